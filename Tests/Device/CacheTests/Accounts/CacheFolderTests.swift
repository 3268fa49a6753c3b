import Foundation
import GRDB
import StratusClient
import StratusRecords
import StratusSync
import StratusTesting
import Testing

@testable import StratusCache

/// One file for each user, and a local one before there is an account.
@Suite struct CacheFolderTests {
    private let folder = NSTemporaryDirectory() + "caches-\(UUID().uuidString)"
    private let id = RecordID(name: "a", zoneID: .list)

    private func open(
        _ user: String?, _ records: CloudCache.LocalRecords = .keepApart,
        _ cloud: RealService = RealService()
    ) throws -> CloudCache {
        try CloudCache(
            path: try CloudCache.path(in: folder, of: user, records), remotes: [cloud.remote()],
            settings: .quick)
    }

    private func saveLocally() throws {
        let local = try open(nil)
        try local.save([
            LocalEdit(id: id, type: "Item", changes: [Field(name: "text", value: .string("1"))])
        ])
        try local.close()
    }

    private func remove() {
        // A leftover in the temporary folder fails no test.
        try? FileManager.default.removeItem(atPath: folder)
    }

    @Test func localRecordsAreNotAdoptedByDefault() throws {
        defer { remove() }
        try saveLocally()
        let alice = try open("_alice")
        #expect(try alice.snapshot(id) == nil)
        try alice.close()
        let local = try open(nil)
        #expect(try local.snapshot(id) != nil)
        try local.close()
    }

    /// An app opens the local file first, then the file of the user who signed in; another user cannot sync that file.
    @Test func fileBelongsToTheNamedUser() async throws {
        defer { remove() }
        let cloud = TestCloud()
        func container(_ user: String?) async throws -> CKContainer {
            CKContainer(
                identifier: "iCloud.org.example.Lists",
                connection: try await cloud.connect(user: user, device: "phone"))
        }
        let item = CKRecord(recordType: "Item", recordID: CKRecord.ID(id))
        item["text"] = "1"
        let local = try CloudCache(
            folder: folder, userRecordName: nil, container: try await container(nil))
        try await local.save(item)
        try local.close()
        let alice = try await container("alice")
        let name = try await alice.userRecordID().recordName
        let cache = try CloudCache(
            folder: folder, userRecordName: name, localRecords: .adopt, container: alice)
        try await cache.sync()
        #expect(
            try await alice.privateCloudDatabase.record(for: item.recordID)["text"] == "1")
        try cache.close()
        let foreign = try CloudCache(
            folder: folder, userRecordName: name, container: try await container("bob"))
        let error = await #expect(throws: CacheError.self) { try await foreign.sync() }
        #expect(error?.haltReason == .otherAccount)
        #expect(try await foreign.record(for: item.recordID)?["text"] == "1")
        try foreign.close()
    }

    @Test func adoptedRecordsKeepTheirAssetFiles() throws {
        defer { remove() }
        let file = URL(fileURLWithPath: NSTemporaryDirectory() + UUID().uuidString)
        try Data("picture".utf8).write(to: file)
        let local = try open(nil)
        let photo = CKRecord(recordType: "Photo", recordID: CKRecord.ID(id))
        photo["image"] = CKAsset(fileURL: file)
        try local.save(photo)
        try local.close()
        unlink(file.path)
        let alice = try open("_alice", .adopt)
        let asset: CKAsset? = try alice.record(for: CKRecord.ID(id))?["image"]
        #expect(try asset.map { try Data(contentsOf: $0.fileURL) } == Data("picture".utf8))
        #expect(!FileManager.default.fileExists(atPath: folder + "/local.sqlite-assets"))
        try alice.close()
    }

    @Test func firstSignInAdoptsLocalRecordsOnce() async throws {
        defer { remove() }
        try saveLocally()
        let cloud = RealService()
        let alice = try open("_alice", .adopt, cloud)
        try await alice.sync()
        #expect(try await cloud.names() == ["a"])
        try alice.close()
        // The next user does not get these records.
        let bob = try open("_bob", .adopt)
        #expect(try bob.snapshot(id) == nil)
        try bob.close()
        let local = try open(nil)
        #expect(try local.snapshot(id) == nil)
        try local.close()
    }

    @Test func syncedLocalFileIsNotAdoptedByAnotherUser() async throws {
        defer { remove() }
        try saveLocally()
        let local = try open(nil)
        try await local.sync()
        try local.close()
        let bob = try open("_bob", .adopt)
        #expect(try bob.snapshot(id) == nil)
        try bob.close()
    }

    @Test func localRecordsInUseAreNotAdopted() throws {
        defer { remove() }
        try saveLocally()
        let local = try open(nil)
        #expect(try local.snapshot(id) != nil)
        let error = #expect(throws: CacheError.self) { try open("_alice", .adopt) }
        #expect(error?.code == .inUse)
        try local.close()
        let alice = try open("_alice", .adopt)
        #expect(try alice.snapshot(id) != nil)
        try alice.close()
    }

    @Test func localRecordsOfNewerAppAreNotAdopted() throws {
        defer { remove() }
        try saveLocally()
        let path = folder + "/local.sqlite"
        let newer = try DatabaseQueue.other(path)
        try newer.write { database in
            try database.execute(
                sql:
                    "INSERT INTO grdb_migrations VALUES ('of a newer app'); PRAGMA user_version = 99"
            )
        }
        try newer.close()
        let error = #expect(throws: CacheError.self) { try open("_alice", .adopt) }
        #expect(error?.code == .newerFormat)
        #expect(FileManager.default.fileExists(atPath: path))
    }

    @Test func everyUserHasAFileOfTheirOwn() throws {
        defer { remove() }
        let users = [nil, "_1a", "_1A", "local", "ü/../x", "a.b", "a%2eb"]
        let paths = try users.map { try CloudCache.path(in: folder, of: $0, .adopt) }
        #expect(Set(paths.map { $0.lowercased() }).count == users.count)
        #expect(paths.allSatisfy { ($0 as NSString).deletingLastPathComponent == folder })
        let mode = try FileManager.default.attributesOfItem(atPath: folder)[.posixPermissions]
        #expect((mode as? NSNumber)?.intValue == 0o700)
    }
}
