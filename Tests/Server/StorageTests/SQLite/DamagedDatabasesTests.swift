import Foundation
import StratusRecords
import Testing

@testable import StratusStorage

/// When a damaged database is refused and when it is tried again.
@Suite struct DamagedDatabasesTests {
    private let address = DatabaseAddress(
        ContainerAddress(container: "c", environment: .production), .private(owner: "_alice"))
    private let error = StorageError(.corrupt, "The file is damaged.")
    private let before = DamagedDatabases.Files()
    /// Differs from ``before``, which knows no file: it describes a folder.
    private let after = DamagedDatabases.Files(at: NSTemporaryDirectory())

    @Test func unchangedFileIsTriedAgainAfterPause() {
        var damaged = DamagedDatabases()
        let answer1 = damaged.note(error, of: address, files: before, atSeconds: 100)
        #expect(answer1)
        let answer2 = damaged.refusal(of: address, files: before, atSeconds: 104)
        #expect(answer2?.code == .corrupt)
        let answer3 = damaged.refusal(of: address, files: before, atSeconds: 105)
        #expect(answer3 == nil)
        // One request tries to open it; others are refused meanwhile.
        let answer4 = damaged.refusal(of: address, files: after, atSeconds: 110)
        #expect(answer4?.code == .corrupt)
        // The check took two seconds: it is not repeated for twenty times as long.
        let answer5 = damaged.note(error, of: address, files: before, atSeconds: 107)
        #expect(!answer5)
        let answer6 = damaged.refusal(of: address, files: before, atSeconds: 146)
        #expect(answer6 != nil)
        let answer7 = damaged.refusal(of: address, files: before, atSeconds: 147)
        #expect(answer7 == nil)
    }

    @Test func changedFileIsTriedAtOnce() {
        var damaged = DamagedDatabases()
        _ = damaged.note(error, of: address, files: before, atSeconds: 100)
        let answer8 = damaged.refusal(of: address, files: after, atSeconds: 100)
        #expect(answer8 == nil)
        let answer9 = damaged.noteWell(address)
        #expect(answer9)
        let answer10 = damaged.noteWell(address)
        #expect(!answer10)
        #expect(damaged.count == 0)
    }

    @Test func openFileIsNotTriedBeforeItIsClosed() {
        var damaged = DamagedDatabases()
        _ = damaged.note(error, of: address, files: nil, atSeconds: 100)
        let answer11 = damaged.refusal(of: address, files: after, atSeconds: 900)
        #expect(answer11 != nil)
        damaged.noteClosed(address, files: after)
        let answer12 = damaged.refusal(of: address, files: after, atSeconds: 900)
        #expect(answer12 == nil)
    }

    @Test func reasonIsReportedOnceUntilItChanges() {
        var damaged = DamagedDatabases()
        let answer13 = damaged.note(error, of: address, files: before, atSeconds: 100)
        #expect(answer13)
        let answer14 = damaged.note(error, of: address, files: before, atSeconds: 200)
        #expect(!answer14)
        let other = StorageError(.unreadable, "The file cannot be read.")
        let answer15 = damaged.note(other, of: address, files: before, atSeconds: 300)
        #expect(answer15)
    }
}
