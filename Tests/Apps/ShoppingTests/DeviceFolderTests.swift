import Foundation
import Testing

@testable import shopping

/// Where a device keeps the lists of whom.
@Suite struct DeviceFolderTests {
    private let path = FileManager.default.temporaryDirectory
        .appendingPathComponent("shopping-\(UUID().uuidString)").path

    private func account(_ environment: [String: String]) -> String? {
        Account(environment: environment).fileKey
    }

    /// Whatever names people have, no two of them share a file.
    @Test func everyAccountHasItsOwnFile() throws {
        let folder = try DeviceFolder(path: path)
        defer { try? FileManager.default.removeItem(atPath: path) }
        let accounts = [
            account([:]), account(["STRATUS_WEB_AUTH_TOKEN": "secret"]),
            account(["STRATUS_DEV_USER": "own"]), account(["STRATUS_DEV_USER": "a.b"]),
            account(["STRATUS_DEV_USER": "a_b"]), account(["STRATUS_DEV_USER": "signed-in"]),
            account(["STRATUS_DEV_USER": "ü/../x"]),
        ]
        let paths = try accounts.map { try folder.listsPath(of: $0) }
        #expect(Set(paths).count == accounts.count)
        #expect(paths.allSatisfy { ($0 as NSString).deletingLastPathComponent == path })
    }

    /// Lists that were made before anybody signed in go to the first account, what lies in the log included.
    @Test func listsMadeBeforeSignInMoveToFirstAccount() throws {
        let folder = try DeviceFolder(path: path)
        defer { try? FileManager.default.removeItem(atPath: path) }
        let before = try folder.listsPath(of: nil)
        for (ending, text) in [("", "lists"), ("-wal", "log")] {
            try Data(text.utf8).write(to: URL(fileURLWithPath: before + ending))
        }
        let alice = try folder.listsPath(of: account(["STRATUS_DEV_USER": "alice"]))
        #expect(FileManager.default.contents(atPath: alice) == Data("lists".utf8))
        #expect(FileManager.default.contents(atPath: alice + "-wal") == Data("log".utf8))
        #expect(!FileManager.default.fileExists(atPath: before))
        // What is made without an account afterwards is not mixed with an account's lists.
        try Data("later".utf8).write(to: URL(fileURLWithPath: before))
        #expect(try folder.listsPath(of: account(["STRATUS_DEV_USER": "alice"])) == alice)
        #expect(FileManager.default.contents(atPath: alice) == Data("lists".utf8))
    }
}
