import Foundation
import StratusClient
import StratusRecords
import StratusSync
import StratusSyncEngine
import StratusTesting
import StratusWire
import Testing

@testable import StratusCache

/// A cache as the store of an app that has an engine of its own.
@Suite(.timeLimit(.minutes(5))) struct EngineStoreTests {
    /// An app on a device: an engine that syncs when it is asked to, and a cache that does not.
    fileprivate final class App {
        let connection: CloudConnection
        let container: CKContainer
        let path = NSTemporaryDirectory() + "engine-\(UUID().uuidString).sqlite"
        private(set) var cache: CloudCache
        private(set) var store: EngineStore
        private(set) var engine: CKSyncEngine

        init(_ cloud: TestCloud, _ device: String, user: String = "alice") async throws {
            connection = try await cloud.connect(user: user, device: device)
            container = CloudDevice.container(connection)
            cache = try CloudCache(path: path, container: container)
            store = try EngineStore(cache)
            engine = try Self.engine(container, store)
        }

        private static func engine(
            _ container: CKContainer, _ store: EngineStore
        ) throws -> CKSyncEngine {
            var configuration = CKSyncEngine.Configuration(
                database: container.privateCloudDatabase,
                stateSerialization: try store.stateSerialization(), delegate: store)
            configuration.automaticallySync = false
            let engine = CKSyncEngine(configuration)
            try store.resume(engine)
            return engine
        }

        /// The process dies and starts again.
        func restart() throws {
            try cache.close()
            cache = try CloudCache(path: path, container: container)
            store = try EngineStore(cache)
            engine = try Self.engine(container, store)
        }

        func save(_ name: String, _ text: String) throws {
            let id = CKRecord.ID(recordName: name, zoneID: .list)
            let record = try cache.record(for: id) ?? CKRecord(recordType: "Item", recordID: id)
            record["text"] = text
            try store.save([record], engine)
        }

        func delete(_ name: String) throws {
            try store.save(
                [], deleting: [CKRecord.ID(recordName: name, zoneID: .list)], engine)
        }

        func texts() throws -> [String: String] {
            var texts: [String: String] = [:]
            for record in try cache.records(ofType: "Item", inZoneWith: .list) {
                texts[record.recordID.recordName] = record["text"]
            }
            return texts
        }

        /// Until nothing is left to send; conflicts take a second time.
        func sync() async throws {
            for _ in 0..<4 {
                try await engine.fetchChanges()
                do {
                    try await engine.sendChanges()
                } catch let error as CKError where error.code == .partialFailure {
                    continue
                }
                if engine.state.pendingRecordZoneChanges.isEmpty { return }
            }
        }

        deinit {
            for suffix in ["", "-wal", "-shm", "-lock"] {
                // A file that was never made need not go.
                try? FileManager.default.removeItem(atPath: path + suffix)
            }
        }
    }

    private func devices(
        _ cloud: TestCloud = TestCloud()
    ) async throws -> (phone: App, tablet: App) {
        return (try await App(cloud, "phone"), try await App(cloud, "tablet"))
    }

    @Test func engineBringsEditsAndDeletionsBothWays() async throws {
        let (phone, tablet) = try await devices()
        for name in ["a", "b", "c"] { try phone.save(name, "1") }
        #expect(try phone.texts().count == 3)
        try await phone.sync()
        #expect(try await phone.cache.pendingRecordIDs().isEmpty)
        try await tablet.sync()
        #expect(try tablet.texts() == ["a": "1", "b": "1", "c": "1"])
        try tablet.save("a", "2")
        try tablet.delete("b")
        try await tablet.sync()
        try await phone.sync()
        #expect(try phone.texts() == ["a": "2", "c": "1"])
        #expect(phone.store.failure == nil && tablet.store.failure == nil)
    }

    @Test func conflictIsDecidedByTheCachesResolver() async throws {
        let (phone, tablet) = try await devices()
        try phone.save("a", "1")
        try await phone.sync()
        try await tablet.sync()
        try phone.save("a", "phone")
        try await phone.sync()
        let record = try #require(
            try await tablet.cache.record(for: CKRecord.ID(recordName: "a", zoneID: .list)))
        record["colour"] = "red"
        try tablet.store.save([record], tablet.engine)
        // Sent before anything is fetched.
        try? await tablet.engine.sendChanges()
        try await tablet.sync()
        try await phone.sync()
        for app in [phone, tablet] {
            let record = try #require(
                try await app.cache.record(for: CKRecord.ID(recordName: "a", zoneID: .list)))
            #expect(record["text"] == "phone" && record["colour"] == "red")
            #expect(try await app.cache.pendingRecordIDs().isEmpty)
        }
    }

    @Test func restartGoesOnWithStateAndQueue() async throws {
        let (phone, tablet) = try await devices()
        try tablet.save("theirs", "1")
        for app in [tablet, phone] { try await app.sync() }
        #expect(try phone.store.stateSerialization() != nil)
        try phone.save("mine", "1")
        try phone.delete("theirs")
        try phone.restart()
        #expect(phone.engine.state.pendingRecordZoneChanges.count == 2)
        try await phone.sync()
        try await tablet.sync()
        #expect(try tablet.texts() == ["mine": "1"])
    }

    /// The engine's app becomes one that lets the cache sync.
    @Test func cacheGoesOnWhereTheEngineWas() async throws {
        let (phone, tablet) = try await devices()
        try tablet.save("theirs", "1")
        for app in [tablet, phone] { try await app.sync() }
        try phone.save("mine", "1")
        try await phone.cache.sync()
        try tablet.delete("theirs")
        try await tablet.sync()
        try await phone.cache.sync()
        #expect(try tablet.texts() == phone.texts())
        #expect(try phone.texts() == ["mine": "1"])
    }

    @Test func eventThatCannotBeWrittenKeepsTheStateBehindIt() async throws {
        let (phone, tablet) = try await devices()
        try tablet.save("a", "1")
        try await tablet.sync()
        let path = phone.path
        try phone.cache.close()
        try await phone.engine.fetchChanges()
        #expect(phone.store.failure != nil)
        #expect(FileManager.default.fileExists(atPath: path))
        try phone.restart()
        try await phone.sync()
        #expect(try phone.texts() == ["a": "1"])
    }

    // MARK: What has no answer

    /// - Parameter isFetched: whether the engine has a token of the zone.
    @Test(arguments: [false, true], [false, true])
    func unansweredNewRecordDeletedElsewhereStaysDeleted(
        isFetched: Bool, isKilled: Bool
    ) async throws {
        let cloud = TestCloud()
        let (phone, tablet) = try await devices(cloud)
        try phone.save("a", "1")
        try await phone.sync()
        if isFetched { try await phone.engine.fetchChanges() }
        try await phone.sendUnanswered("b", cloud, .dropConnectionAfterCommit)
        if isKilled { try phone.restart() }
        try await tablet.sync()
        try tablet.delete("b")
        try await tablet.sync()
        // Nothing was fetched since: it waits.
        try await phone.engine.sendChanges()
        try await tablet.sync()
        #expect(try tablet.texts() == ["a": "1"])
        #expect(try phone.texts()["b"] == "1")
        try await phone.sync()
        #expect(try phone.texts() == ["a": "1"])
        #expect(try await phone.cache.pendingRecordIDs().isEmpty)
        #expect(phone.engine.state.pendingRecordZoneChanges.isEmpty)
        let report = try #require(try await phone.cache.reports().first)
        guard case .editOfDeletedRecord(let client) = report.event else {
            Issue.record("The app was told something else: \(report.event)")
            return
        }
        #expect(client["text"] == "1")
    }

    @Test(arguments: [false, true]) func unansweredSaveIsNeitherLostNorDoubled(
        arrives: Bool
    ) async throws {
        let cloud = TestCloud()
        let (phone, tablet) = try await devices(cloud)
        try await phone.sendUnanswered(
            "b", cloud, arrives ? .dropConnectionAfterCommit : .dropConnectionBeforeCommit)
        try await phone.sync()
        try await tablet.sync()
        for app in [phone, tablet] { #expect(try app.texts() == ["b": "1"]) }
        #expect(try await phone.cache.pendingRecordIDs().isEmpty)
        #expect(try await phone.cache.reports().isEmpty)
    }

    @Test func unansweredDeletionSparesRecordMadeAnewElsewhere() async throws {
        let cloud = TestCloud()
        let (phone, tablet) = try await devices(cloud)
        try phone.save("a", "1")
        for app in [phone, tablet, phone] { try await app.sync() }
        cloud.faults(on: "phone").next(of: RecordsModify.self, .dropConnectionAfterCommit)
        try phone.delete("a")
        await #expect(throws: CKError.self) { try await phone.engine.sendChanges() }
        try await tablet.sync()
        try tablet.save("a", "another")
        try await tablet.sync()
        try await phone.engine.sendChanges()
        try await phone.sync()
        try await tablet.sync()
        for app in [phone, tablet] { #expect(try app.texts() == ["a": "another"]) }
    }

    @Test func childWaitsWithItsUnansweredParent() async throws {
        let cloud = TestCloud()
        let (phone, tablet) = try await devices(cloud)
        try await phone.sendUnanswered("parent", cloud, .dropConnectionBeforeCommit)
        let parentID = CKRecord.ID(recordName: "parent", zoneID: .list)
        let child = CKRecord(
            recordType: "Item", recordID: CKRecord.ID(recordName: "child", zoneID: .list))
        child["text"] = "2"
        child.setParent(parentID)
        try phone.store.save([child], phone.engine)
        try await phone.engine.sendChanges()
        #expect(phone.engine.state.pendingRecordZoneChanges.count == 2)
        try await phone.sync()
        try await tablet.sync()
        #expect(try tablet.texts() == ["parent": "1", "child": "2"])
        #expect(try await phone.cache.attentionItems().isEmpty)
    }

    // MARK: Whose it is

    /// - Parameter isRestarted: whether the app hears of the other user with a new engine.
    @Test(arguments: [false, true]) func fileStaysItsUsers(isRestarted: Bool) async throws {
        let cloud = TestCloud()
        let (phone, tablet) = try await devices(cloud)
        let bobs = try await App(cloud, "bobs", user: "bob")
        try phone.save("alice's", "1")
        try await phone.sync()
        try bobs.save("bob's", "1")
        try await bobs.sync()
        try phone.save("unsent", "1")
        try phone.cache.save("unsent", "1", zone: CKRecordZone.ID(zoneName: "Secret"))
        try await cloud.signIn("bob", on: phone.connection)
        if isRestarted { try phone.restart() }
        try await phone.sync()
        #expect(try phone.texts() == ["alice's": "1", "unsent": "1"])
        #expect((phone.store.failure as? CacheError)?.haltReason == .otherAccount)
        try await bobs.sync()
        #expect(try bobs.texts() == ["bob's": "1"])
        #expect(try await bobs.cache.zoneIDs() == [.list])
        try await cloud.signIn("alice", on: phone.connection)
        for app in [phone, tablet] { try await app.sync() }
        #expect(phone.store.failure == nil)
        for app in [phone, tablet] {
            #expect(try app.texts() == ["alice's": "1", "unsent": "1"])
        }
        #expect(try await phone.cache.pendingRecordIDs().isEmpty)
    }

    /// Nobody is signed in for a while.
    @Test func editMadeSignedOutIsSentAfterwards() async throws {
        let cloud = TestCloud()
        let (phone, tablet) = try await devices(cloud)
        try phone.save("a", "1")
        try await phone.sync()
        try phone.connection.signOut()
        await #expect(throws: CKError.self) { try await phone.engine.fetchChanges() }
        try phone.save("b", "1")
        try await cloud.signIn("alice", on: phone.connection)
        for app in [phone, tablet] { try await app.sync() }
        #expect(try tablet.texts() == ["a": "1", "b": "1"])
    }

    @Test func zoneDeletedInTheCacheIsDeletedByTheEngine() async throws {
        let (phone, tablet) = try await devices()
        try phone.save("a", "1")
        for app in [phone, tablet] { try await app.sync() }
        try await phone.cache.deleteZone(.list)
        try phone.store.resume(phone.engine)
        for app in [phone, tablet] { try await app.sync() }
        #expect(try await tablet.cache.zoneIDs().isEmpty)
        #expect(try await phone.cache.zoneIDs().isEmpty)
    }

    // MARK: What only a comparison can tell

    /// The engine cannot name what was deleted before its token was lost; the store has all records.
    @Test func expiredTokenLeavesNoDeletedRecord() async throws {
        let cloud = TestCloud()
        let (phone, tablet) = try await devices(cloud)
        for name in ["a", "b"] { try tablet.save(name, "1") }
        for app in [tablet, phone] { try await app.sync() }
        try phone.save("c", "1")
        try tablet.delete("a")
        try await tablet.sync()
        cloud.faults.next(of: ChangesZone.self, .expireChangeTokens)
        try await phone.sync()
        #expect(cloud.faults.remaining.isEmpty)
        #expect(try phone.texts() == ["b": "1", "c": "1"])
        try await tablet.sync()
        #expect(try tablet.texts() == ["b": "1", "c": "1"])
    }

    @Test func batchThatIsTooLargeGoesInParts() async throws {
        let cloud = TestCloud()
        let (phone, tablet) = try await devices(cloud)
        try phone.save("first", "1")
        try await phone.sync()
        for number in 0..<4 { try phone.save("\(number)", "1") }
        cloud.faults.next(
            of: RecordsModify.self, .answer(.badRequest, frameworkCode: .limitExceeded))
        try await phone.sync()
        #expect(try await phone.cache.attentionItems().isEmpty)
        try await tablet.sync()
        #expect(try tablet.texts().count == 5)
    }
}

extension EngineStoreTests.App {
    /// Saves a new record into a zone that is there, and hears nothing of it.
    fileprivate func sendUnanswered(
        _ name: String, _ cloud: TestCloud, _ effect: DeviceFaults.Effect
    ) async throws {
        engine.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: .list))])
        try await engine.sendChanges()
        cloud.faults(on: "phone").next(of: RecordsModify.self, effect)
        try save(name, "1")
        await #expect(throws: CKError.self) { try await engine.sendChanges() }
    }
}
