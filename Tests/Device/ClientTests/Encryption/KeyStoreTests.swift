import Foundation
import Synchronization
import Testing

@testable import StratusClient

/// Key files are readable by their user only, and the first key stays.
@Suite struct KeyStoreTests {
    private let account = CloudKeyAccount(
        container: "iCloud.org.example/Trails", environment: .development, user: "_ida")

    @Test func keyIsKeptInPrivateFilePerAccount() throws {
        let scratch = try Scratch()
        let folder = scratch.folder.appendingPathComponent("keys")
        let store = FileKeyStore(folder: folder)
        #expect(try store.key(for: account) == nil)
        #expect(try store.addKey([1, 2], for: account) == [1, 2])
        #expect(try store.addKey([3, 4], for: account) == [1, 2])
        #expect(try FileKeyStore(folder: folder).key(for: account) == [1, 2])
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

    /// The store tightens loose permissions of its folder and of its list of fields; only a key that others may have
    /// read is refused.
    @Test func loosePermissionsOfFolderAndFieldListAreTightened() throws {
        let scratch = try Scratch()
        chmod(scratch.folder.path, 0o755)
        let store = FileKeyStore(folder: scratch.folder)
        try store.addEncryptedFields(
            [EncryptedField(recordType: "Hut", key: "diary")], of: account.container,
            in: .development)
        #expect(try mode(of: scratch.folder) == 0o700)
        let name = try #require(
            try FileManager.default.contentsOfDirectory(atPath: scratch.folder.path).first)
        let file = scratch.folder.appendingPathComponent(name)
        chmod(file.path, 0o644)
        #expect(try store.encryptedFields(of: account.container, in: .development).count == 1)
        #expect(try mode(of: file) == 0o600)
    }

    /// A store with one key, and the key's file.
    private func storeWithKey(in scratch: Scratch) throws -> (FileKeyStore, path: String) {
        let store = FileKeyStore(folder: scratch.folder)
        _ = try store.addKey([1], for: account)
        let name = try #require(
            try FileManager.default.contentsOfDirectory(atPath: scratch.folder.path).first)
        return (store, scratch.folder.appendingPathComponent(name).path)
    }

    @Test func keyFileReadableByOthersIsRefused() throws {
        let scratch = try Scratch()
        let (store, path) = try storeWithKey(in: scratch)
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
        let error = #expect(throws: CloudKeyStoreError.self) { try store.key(for: account) }
        #expect(error?.sentence.contains("chmod") == true)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        try Data("nonsense".utf8).write(to: URL(fileURLWithPath: path))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        #expect(throws: CloudKeyStoreError.self) { try store.key(for: account) }
    }

    /// Damage to the file of a sign-in never yields another sign-in, and the next sign-in replaces the file.
    @Test func damagedSignInIsRefusedUntilTheNextSignIn() throws {
        let scratch = try Scratch()
        let store = FileKeyStore(folder: scratch.folder)
        let place = CloudSignInPlace(
            service: "https://cloud.example.org", apiToken: "app", environment: .development)
        let signIn = KeptSignIn(id: "1", userRecordName: "_ida", webAuthToken: "secret")
        try store.keepSignIn(signIn, at: place)
        #expect(try store.signIn(at: place) == signIn)
        let name = try #require(
            try FileManager.default.contentsOfDirectory(atPath: scratch.folder.path).first)
        let url = scratch.folder.appendingPathComponent(name)
        func write(_ data: Data) throws {
            try data.write(to: url)
            chmod(url.path, 0o600)
        }
        let intact = try Data(contentsOf: url)
        var damaged = (0..<intact.count).map { intact.prefix($0) }
        for index in 0..<intact.count {
            var bent = intact
            bent[index] ^= 1
            damaged.append(bent)
        }
        for data in damaged {
            try write(data)
            do {
                let found = try store.signIn(at: place)
                #expect(found == signIn)
            } catch is CloudKeyStoreError {
                // The damage was noticed; otherwise it changed nothing, such as the line's end.
                continue
            }
        }
        try write(Data("nonsense".utf8))
        #expect(throws: CloudKeyStoreError.self) { try store.signIn(at: place) }
        let next = KeptSignIn(id: "2", userRecordName: "_bo", webAuthToken: "other")
        try store.keepSignIn(next, at: place)
        #expect(try store.signIn(at: place) == next)
        // Read back, these would be other values.
        for (id, user, token) in [("1\n_ida", "secret", ""), ("1", "", "2"), ("1", "_ida", "2\n")] {
            let wrong = KeptSignIn(id: id, userRecordName: user, webAuthToken: token)
            #expect(throws: CloudKeyStoreError.self) { try store.keepSignIn(wrong, at: place) }
        }
        #expect(try store.signIn(at: place) == next)
        // The file of an earlier release.
        let lines = Data("1\n_ida\nsecret\n".utf8).base64EncodedString()
        try write(Data("stratus-sign-in-1 \(lines)\n".utf8))
        #expect(try store.signIn(at: place) == signIn)
    }

    @Test func newerFormatIsRefused() throws {
        let scratch = try Scratch()
        let (store, path) = try storeWithKey(in: scratch)
        let handle = try FileHandle(forUpdating: URL(fileURLWithPath: path))
        try handle.write(contentsOf: Data("stratus-key-2 ".utf8))
        try handle.close()
        let error = #expect(throws: CloudKeyStoreError.self) { try store.key(for: account) }
        #expect(error?.sentence.hasSuffix("Update the app.") == true)
        #expect(error?.path == path)
    }

    @Test func concurrentAddKeysKeepOneKey() async throws {
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

    @Test func removingKeyRemovesKeyring() throws {
        let scratch = try Scratch()
        let store = FileKeyStore(folder: scratch.folder)
        try store.removeKey(for: account)
        _ = try store.addKey([1], for: account)
        try store.keepKeyring([2], for: account)
        try store.keepKeyring([3], for: account)
        var other = account
        other.user = "_ida.key+a"
        _ = try store.addKey([4], for: other)
        #expect(try FileKeyStore(folder: scratch.folder).keyring(for: account) == [3])
        // A draft that a power loss left behind.
        try Data("draft".utf8).write(
            to: scratch.folder.appendingPathComponent(try names(in: scratch)[0] + "+abcdef"))
        try store.removeKey(for: account)
        #expect(try store.key(for: account) == nil && store.keyring(for: account) == nil)
        #expect(try store.key(for: other) == [4])
        #expect(try names(in: scratch).count == 1)
    }

    /// A returned key survives a power loss.
    @Test func folderIsSynchronizedBeforeKeyIsReturned() throws {
        let scratch = try Scratch()
        let folder = scratch.folder.appendingPathComponent("a/keys")
        let synchronized = Log()
        let store = FileKeyStore(folder: folder) { made in
            let names = try FileManager.default.contentsOfDirectory(atPath: made.path)
            synchronized.add("\(made.lastPathComponent): \(names.count)")
        }
        _ = try store.addKey([1], for: account)
        let way = ["a: 1", "\(scratch.folder.lastPathComponent): 1"]
        #expect(synchronized.all == way + ["keys: 1"])
        _ = try store.addKey([2], for: account)
        try store.keepKeyring([3], for: account)
        try store.removeKey(for: account)
        #expect(synchronized.all == way + ["keys: 1", "keys: 1", "keys: 2", "keys: 0"])
    }

    @Test func failedKeyWriteLeavesNoDraft() throws {
        struct Full: Error {}
        let scratch = try Scratch()
        let store = FileKeyStore(folder: scratch.folder) { _ in throw Full() }
        #expect(throws: CloudKeyStoreError.self) { try store.addKey([1], for: account) }
        #expect(try names(in: scratch).count == 1)
        // A folder is in the file's place, so the draft cannot be renamed.
        let keyring = try names(in: scratch)[0].replacingOccurrences(of: ".key", with: ".keyring")
        try FileManager.default.createDirectory(
            at: scratch.folder.appendingPathComponent(keyring), withIntermediateDirectories: false)
        #expect(throws: CloudKeyStoreError.self) { try store.keepKeyring([1], for: account) }
        #expect(try names(in: scratch).count == 2)
    }

    private func names(in scratch: Scratch) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: scratch.folder.path).sorted()
    }
}
