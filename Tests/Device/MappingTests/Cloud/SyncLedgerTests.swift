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

    /// A loss of power after the app's deletion must not bring the object back.
    @Test func deletionIsOnTheDiskWhenItIsNoted() throws {
        let url = FileManager.default.temporaryDirectory
            .appendingPathComponent("ledger-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: url) }
        let synced = Mutex<[String]>([])
        let ledger = try SyncLedger(
            url: url,
            sync: { file in
                try file.synchronize()
                let text = try String(contentsOf: url, encoding: .utf8)
                synced.withLock { $0.append(text) }
            })
        // The next sync would find out again what is lost of these.
        try ledger.setKnown("Hut", ["first": SyncLedger.Known(changed: 1)])
        try ledger.setDeleted("Hut", ["other"], isPending: false)
        #expect(synced.withLock { $0 }.isEmpty)
        try ledger.setDeleted("Hut", ["first"], isPending: true)
        let texts = synced.withLock { $0 }
        #expect(texts.count == 1)
        #expect(texts.last?.contains(#""isPending":true"#) == true)
    }

    @Test func deletionThatCouldNotBeSyncedIsWrittenAgain() throws {
        let url = FileManager.default.temporaryDirectory
            .appendingPathComponent("ledger-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: url) }
        let ledger = try SyncLedger(url: url, sync: { _ in throw POSIXError(.EIO) })
        #expect(throws: MappingError.self) {
            try ledger.setDeleted("Hut", ["first"], isPending: true)
        }
        // The system may have dropped what it could not write.
        try Data().write(to: url)
        try ledger.set("user", "anna")
        #expect(try SyncLedger(url: url).pendingDeletions("Hut") == ["first"])
    }

    /// The disk is full just when most lines are outdated; here something is in the place of the draft.
    @Test func whatAFailedRewriteLeftOutIsWrittenLater() throws {
        let url = FileManager.default.temporaryDirectory
            .appendingPathComponent("ledger-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: url) }
        let draft = url.appendingPathExtension("new")
        try FileManager.default.createDirectory(at: draft, withIntermediateDirectories: false)
        let ledger = try SyncLedger(url: url)
        var unwritten: String?
        for number in 0..<10_000 where unwritten == nil {
            do {
                try ledger.set("user", "\(number)")
            } catch {
                // The first rewrite.
                unwritten = "\(number)"
            }
        }
        try FileManager.default.removeItem(at: draft)
        try ledger.set("other", "1")
        let value = try #require(unwritten)
        let read = try SyncLedger(url: url)
        #expect(read.value("user") == value)
        #expect(read.value("other") == "1")
    }

    /// The deletions that the cloud has do not make the file grow for ever.
    @Test func oldDeletionsAreForgottenOnceTheCloudHasThem() throws {
        let url = FileManager.default.temporaryDirectory
            .appendingPathComponent("ledger-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: url) }
        let ledger = try SyncLedger(url: url)
        try ledger.setDeleted("Hut", ["unsent"], isPending: true)
        let names = (0...2 * DeletedNames.keptCount).map { "hut-\($0)" }
        try ledger.setDeleted("Hut", names, isPending: false)
        let again = try SyncLedger(url: url)
        for ledger in [ledger, again] {
            #expect(ledger.pendingDeletions("Hut") == ["unsent"])
            #expect(!ledger.isDeleted("Hut", "hut-0"))
            #expect(names.suffix(DeletedNames.keptCount).allSatisfy { ledger.isDeleted("Hut", $0) })
        }
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
