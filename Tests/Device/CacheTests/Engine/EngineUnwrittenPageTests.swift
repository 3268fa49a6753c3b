import StratusCache
import StratusClient
import StratusSync
import StratusSyncEngine
import StratusTesting
import StratusWire
import Synchronization
import Testing

/// A page that could not be written, as on a full disk: the store concludes nothing from the end of that fetch, and sends
/// nothing until the page was fetched again.
@Suite(.timeLimit(.minutes(20))) struct EngineUnwrittenPageTests {
    /// An app's delegate on a device that has no room while it is told of a page of records.
    private final class FullDuringPages: CKSyncEngineDelegate {
        let store: EngineStore
        private let file: MemoryCacheFile
        private let isFull = Mutex(false)

        init(_ store: EngineStore, _ file: MemoryCacheFile) {
            self.store = store
            self.file = file
        }

        func setFull(_ isFull: Bool) { self.isFull.withLock { $0 = isFull } }

        func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
            if case .fetchedRecordZoneChanges = event, isFull.withLock({ $0 }) {
                file.setWriteTrouble { _ in .storageFull }
            }
            await store.handleEvent(event, syncEngine: syncEngine)
            file.setWriteTrouble(nil)
        }

        func nextRecordZoneChangeBatch(
            _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
        ) async -> CKSyncEngine.RecordZoneChangeBatch? {
            await store.nextRecordZoneChangeBatch(context, syncEngine: syncEngine)
        }
    }

    /// A device whose file is in memory; the app makes a new engine where the last one failed.
    private final class Phone {
        private let container: CKContainer
        private let file: MemoryCacheFile
        let cache: CloudCache
        private(set) var delegate: FullDuringPages
        private(set) var engine: CKSyncEngine

        init(_ cloud: TestCloud) async throws {
            container = CloudDevice.container(
                try await cloud.connect(user: "alice", device: "phone"))
            file = try MemoryCacheFile()
            cache = try CloudCache(
                memory: file, container: container, settings: .quick, resolver: FieldWise())
            delegate = FullDuringPages(try EngineStore(cache), file)
            engine = try Self.engine(container, delegate)
        }

        private static func engine(
            _ container: CKContainer, _ delegate: FullDuringPages
        ) throws -> CKSyncEngine {
            var configuration = CKSyncEngine.Configuration(
                database: container.privateCloudDatabase,
                stateSerialization: try delegate.store.stateSerialization(), delegate: delegate)
            configuration.automaticallySync = false
            let engine = CKSyncEngine(configuration)
            try delegate.store.resume(engine)
            return engine
        }

        func restart() throws {
            delegate = FullDuringPages(try EngineStore(cache), file)
            engine = try Self.engine(container, delegate)
        }

        func save(_ name: String, _ text: String) throws {
            let id = CKRecord.ID(recordName: name, zoneID: .list)
            let record = try cache.record(for: id) ?? CKRecord(recordType: "Item", recordID: id)
            record["text"] = text
            try delegate.store.save([record], engine)
        }

        func texts() throws -> [String: String] {
            var texts: [String: String] = [:]
            for record in try cache.records(ofType: "Item", inZoneWith: .list) {
                texts[record.recordID.recordName] = record["text"]
            }
            return texts
        }

        func sync() async throws {
            for _ in 0..<3 {
                try await engine.fetchChanges()
                // A conflict takes a second time.
                do { try await engine.sendChanges() } catch is CKError {}
            }
        }

        /// Fetches while the device has no room for pages of records, and sends when it has room again.
        func syncWithoutRoomForPages() async throws {
            delegate.setFull(true)
            try await engine.fetchChanges()
            delegate.setFull(false)
            #expect(delegate.store.failure != nil)
            do { try await engine.sendChanges() } catch is CKError {}
        }
    }

    /// The page that was not written has the deletion of a record whose save had no answer.
    @Test(arguments: [false, true])
    func recordDeletedElsewhereStaysDeleted(isRestarted: Bool) async throws {
        let cloud = TestCloud()
        let (phone, tablet) = (try await Phone(cloud), try await EngineDevice(cloud, "tablet"))
        try phone.save("a", "1")
        try await phone.sync()
        cloud.faults(on: "phone").next(of: RecordsModify.self, .dropConnectionAfterCommit)
        try phone.save("b", "1")
        await #expect(throws: CKError.self) { try await phone.engine.sendChanges() }
        try await tablet.sync()
        #expect(try tablet.texts() == ["a": "1", "b": "1"])
        try tablet.delete("b")
        try await tablet.sync()
        try await phone.syncWithoutRoomForPages()
        if isRestarted { try phone.restart() }
        try await phone.sync()
        try await tablet.sync()
        #expect(phone.delegate.store.failure == nil)
        #expect(try tablet.texts() == ["a": "1"])
        #expect(try phone.texts() == ["a": "1"])
        #expect(try await phone.cache.pendingRecordIDs().isEmpty)
    }

    /// The page that was not written is of a fetch from the beginning: what it would have brought counts as missing.
    @Test(arguments: [false, true])
    func pendingEditOutlivesAPageThatWasNotWritten(isRestarted: Bool) async throws {
        let cloud = TestCloud()
        let (phone, tablet) = (try await Phone(cloud), try await EngineDevice(cloud, "tablet"))
        try phone.save("a", "1")
        for _ in 0..<2 { try await phone.sync() }
        try await tablet.sync()
        try tablet.save("c", "1")
        try await tablet.sync()
        try phone.save("a", "2")
        cloud.faults.next(of: ChangesZone.self, .expireChangeTokens)
        try await phone.syncWithoutRoomForPages()
        #expect(cloud.faults.remaining.isEmpty)
        if isRestarted { try phone.restart() }
        try await phone.sync()
        try await tablet.sync()
        for texts in try [phone.texts(), tablet.texts()] {
            #expect(texts == ["a": "2", "c": "1"])
        }
    }
}
