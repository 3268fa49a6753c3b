import Foundation
import StratusClient
import Testing

/// Files of keys are their user's alone, and the first key stays.
@Suite struct KeyStoreTests {
    private let account = CloudKeyAccount(
        container: "iCloud.org.example/Trails", environment: .development, user: "_ida")

    @Test func aKeyIsKeptInAFileOfItsUser() throws {
        let scratch = try Scratch()
        let folder = scratch.folder.appendingPathComponent("keys")
        let store = FileKeyStore(folder: folder)
        #expect(try store.key(for: account) == nil)
        #expect(try store.addKey([1, 2], for: account) == [1, 2])
        #expect(try store.addKey([3, 4], for: account) == [1, 2])
        #expect(try FileKeyStore(folder: folder).key(for: account) == [1, 2])
        try store.replaceKey([5], for: account)
        #expect(try store.key(for: account) == [5])
        var other = account
        other.environment = .production
        #expect(try store.key(for: other) == nil)
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        #expect(names.count == 1)
        for (path, mode) in [
            (folder.path, 0o700), (folder.path + "/" + (names.first ?? ""), 0o600),
        ] {
            let attributes = try FileManager.default.attributesOfItem(atPath: path)
            #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == mode)
        }
    }

    @Test func aFileThatOthersMayReadIsRefused() throws {
        let scratch = try Scratch()
        let store = FileKeyStore(folder: scratch.folder)
        _ = try store.addKey([1], for: account)
        let name = try #require(
            try FileManager.default.contentsOfDirectory(atPath: scratch.folder.path).first)
        let path = scratch.folder.appendingPathComponent(name).path
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
        let error = #expect(throws: CloudKeyStoreError.self) { try store.key(for: account) }
        #expect(error?.sentence.contains("chmod") == true)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        try Data("nonsense".utf8).write(to: URL(fileURLWithPath: path))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        #expect(throws: CloudKeyStoreError.self) { try store.key(for: account) }
    }

    @Test func ofManyAtATimeOneWins() async throws {
        let scratch = try Scratch()
        let folder = scratch.folder
        let account = account
        let kept = try await withThrowingTaskGroup(of: [UInt8].self) { group in
            for number in 0..<16 {
                group.addTask {
                    try FileKeyStore(folder: folder).addKey([UInt8(number)], for: account)
                }
            }
            return try await group.reduce(into: Set<[UInt8]>()) { $0.insert($1) }
        }
        #expect(kept.count == 1)
    }
}
