import Foundation
import StratusClient
import StratusRecords
import StratusSync
import StratusSyncEngine
import StratusTesting
import Testing

@testable import StratusCache

/// A cache as the store of an app that has an engine of its own.
@Suite(.timeLimit(.minutes(5))) struct EngineStoreTests {
    /// An app on a device: an engine that syncs when it is asked to, and a cache that does not.
    private final class App {
        let container: CKContainer
        let path = NSTemporaryDirectory() + "engine-\(UUID().uuidString).sqlite"
        private(set) var cache: CloudCache
        private(set) var store: EngineStore
        private(set) var engine: CKSyncEngine

        init(_ cloud: TestCloud, _ device: String) async throws {
            container = try await cloud.container(
                CloudDevice.container, user: "alice", device: device)
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

    private func devices() async throws -> (phone: App, tablet: App) {
        let cloud = TestCloud()
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
}
