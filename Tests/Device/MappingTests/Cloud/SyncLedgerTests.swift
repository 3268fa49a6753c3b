import Foundation
import Synchronization
import Testing

@testable import StratusMapping

/// The file of what both sides have in common.
@Suite struct SyncLedgerTests {
    @Test func deletionAfterAPartlyWrittenLineIsReadAgain() throws {
        let url = FileManager.default.temporaryDirectory
            .appendingPathComponent("ledger-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: url) }
        let isFull = Atomic(true)
        let ledger = try SyncLedger(url: url) { file, text in
            guard isFull.load(ordering: .relaxed) else { return try file.write(contentsOf: text) }
            try file.write(contentsOf: text.prefix(10))
            throw CocoaError(.fileWriteOutOfSpace)
        }
        #expect(throws: MappingError.self) {
            try ledger.setDeleted("Hut", ["first"], isPending: true)
        }
        isFull.store(false, ordering: .relaxed)
        try ledger.setDeleted("Hut", ["second"], isPending: true)
        let read = try SyncLedger(url: url)
        #expect(read.pendingDeletions("Hut") == ["first", "second"])
    }

    /// Such as one that another user owns; here a socket, which root cannot read either.
    @Test func fileThatCannotBeReadIsNotReplaced() throws {
        let url = FileManager.default.temporaryDirectory
            .appendingPathComponent("ledger-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: url) }
        #expect(mknod(url.path, S_IFSOCK | 0o600, 0) == 0)
        let error = #expect(throws: MappingError.self) { try SyncLedger(url: url) }
        #expect(error?.code == .unwritable)
        let attributes = try FileManager.default.attributesOfItem(atPath: url.path)
        #expect(attributes[.type] as? FileAttributeType == .typeSocket)
    }

    @Test func fileIsForItsUserAlone() throws {
        let url = FileManager.default.temporaryDirectory
            .appendingPathComponent("ledger-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: url) }
        _ = FileManager.default.createFile(
            atPath: url.path, contents: nil, attributes: [.posixPermissions: 0o644])
        try SyncLedger(url: url).set("user", "anna")
        let attributes = try FileManager.default.attributesOfItem(atPath: url.path)
        #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600)
    }
}
