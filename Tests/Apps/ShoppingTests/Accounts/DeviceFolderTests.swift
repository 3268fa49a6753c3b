import AppDevice
import Foundation
import StratusClient
import StratusRuntime
import Testing

@testable import shopping

/// In which files a device stores each user's lists.
@Suite struct DeviceFolderTests {
    private let path = FileManager.default.temporaryDirectory
        .appendingPathComponent("shopping-\(UUID().uuidString)").path

    /// No two users share a file, whatever their names are.
    @Test func everyOwnerHasTheirOwnFile() throws {
        let folder = try DeviceFolder(path: path)
        defer { try? FileManager.default.removeItem(atPath: path) }
        let owners: [AccountOwner] = [
            .nobody, .user(recordName: "_1a"), .user(recordName: "_1A"), .developmentUser("own"),
            .developmentUser("a.b"), .developmentUser("a_b"), .developmentUser("signed-in"),
            .developmentUser("_1a"), .developmentUser("ü/../x"), .user(recordName: "ü/../x"),
        ]
        let paths = try owners.map { try folder.listsPath(of: $0) }
        #expect(Set(paths).count == owners.count)
        #expect(paths.allSatisfy { ($0 as NSString).deletingLastPathComponent == path })
    }

    /// Lists created before a sign-in stay in their file until the account's store has them.
    @Test func listsMadeBeforeSignInAreRemovedOnceAdopted() throws {
        let folder = try DeviceFolder(path: path)
        defer { try? FileManager.default.removeItem(atPath: path) }
        #expect(!folder.hasOwnerlessLists)
        let before = try folder.listsPath(of: .nobody)
        for (ending, text) in [("", "lists"), ("-wal", "log")] {
            try Data(text.utf8).write(to: URL(fileURLWithPath: before + ending))
        }
        let alice = try folder.listsPath(of: .user(recordName: "_alice"))
        #expect(FileManager.default.contents(atPath: alice) == Data())
        #expect(folder.hasOwnerlessLists)
        #expect(FileManager.default.contents(atPath: before + "-wal") == Data("log".utf8))
        folder.removeOwnerlessLists()
        #expect(!folder.hasOwnerlessLists)
        let names = try FileManager.default.contentsOfDirectory(atPath: path)
        #expect(!names.contains { $0.hasPrefix("lists.sqlite") })
        #expect(FileManager.default.fileExists(atPath: alice))
    }

    /// No other user of the device can read the lists, even if an earlier release left them readable.
    @Test func filesAreReadableByTheirOwnerOnly() throws {
        let folder = try DeviceFolder(path: path)
        defer { try? FileManager.default.removeItem(atPath: path) }
        let former = try folder.listsPath(of: .nobody)
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: former)
        let lists = try folder.listsPath(of: .user(recordName: "_alice"))
        try folder.knownTokens.remember("_alice", of: "secret")
        try folder.knownTokens.remember("_bob", of: "another secret")
        for file in [lists, folder.knownTokens.path] {
            let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions]
            #expect(mode as? Int == 0o600, "\(file)")
        }
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions]
        #expect(mode as? Int == 0o700)
    }

    /// The service recognises a device's changes by the device identifier, which is never only the name.
    @Test func devicesWithOneNameHaveDifferentIdentifiers() throws {
        let paths = [path, path + "-2"]
        defer { for path in paths { try? FileManager.default.removeItem(atPath: path) } }
        let identifiers = try paths.map { try LockedFolder(path: $0, app: "shopping").deviceID }
        #expect(Set(identifiers).count == 2)
        #expect(try LockedFolder(path: path, app: "shopping").deviceID == identifiers[0])
        let names = identifiers.map { LockedFolder.connectionName("phone", $0) }
        #expect(Set(names).count == 2 && names.allSatisfy { $0.hasPrefix("phone-") })
        let long = LockedFolder.connectionName(String(repeating: "ü", count: 300), identifiers[0])
        #expect(long.utf8.count <= 255 && long.hasSuffix(identifiers[0]))
        let folder = try DeviceFolder(path: path)
        #expect(
            folder.container("iCloud.org.example").connection.deviceID.hasSuffix(identifiers[0]))
    }

    // MARK: A token's user

    @Test func unknownTokenIsLookedUpAtTheServiceAndRemembered() async throws {
        let folder = try DeviceFolder(path: path)
        defer { try? FileManager.default.removeItem(atPath: path) }
        let owner = try await Self.account("secret").owner(knownTokens: folder.knownTokens) {
            "_alice"
        }
        #expect(owner == .user(recordName: "_alice"))
        // Offline now; the user is still known.
        let again = try await Self.account("secret").owner(
            knownTokens: KnownTokens(path: folder.knownTokens.path), asking: nil)
        #expect(again == .user(recordName: "_alice"))
        let kept = try #require(FileManager.default.contents(atPath: folder.knownTokens.path))
        #expect(!String(decoding: kept, as: UTF8.self).contains("secret"))
    }

    @Test func unknownTokenIsRefusedOffline() async throws {
        let folder = try DeviceFolder(path: path)
        defer { try? FileManager.default.removeItem(atPath: path) }
        try folder.knownTokens.remember("_alice", of: "secret")
        let stranger = Self.account("another secret")
        let offline = await #expect(throws: OneSentence.self) {
            try await stranger.owner(knownTokens: folder.knownTokens, asking: nil)
        }
        #expect(offline?.description.contains("Start the app once without --offline") == true)
        let unreachable = await #expect(throws: OneSentence.self) {
            try await stranger.owner(knownTokens: folder.knownTokens) {
                throw CKError(.networkUnavailable)
            }
        }
        #expect(unreachable?.description.contains("while the service can be reached") == true)
        let refused = await #expect(throws: OneSentence.self) {
            try await stranger.owner(knownTokens: folder.knownTokens) {
                throw CKError(.notAuthenticated)
            }
        }
        #expect(refused?.description.contains("Set a new token") == true)
        #expect(folder.knownTokens.userRecordName(of: "another secret") == nil)
    }

    /// With both a token and a development user, a connection uses the token, so the lists are the token's user's.
    @Test func tokenPrevailsOverDevelopmentUser() {
        let account = Self.account("secret", ["STRATUS_DEV_USER": "alice"])
        #expect(account.credential == .webAuthToken("secret"))
        #expect(Self.account("").credential == .none)
    }

    private static func account(_ token: String, _ more: [String: String] = [:]) -> Account {
        let environment = ["STRATUS_URL": "http://127.0.0.1:1", "STRATUS_WEB_AUTH_TOKEN": token]
        return Account(
            environment: environment.merging(more) { $1 }, app: "shopping",
            content: "The lists stay")
    }
}
