import Foundation
import GRDB
import Observation
import StratusClient
import StratusMapping
import StratusTesting
import StratusWire
import Synchronization
import Testing

/// Features beyond document 004: live objects, undo, and rows of SQLite tables.
@Suite(.timeLimit(.minutes(20)))
struct LiveObjectTests {
    let cloud = TestCloud()

    @Test func observerOfAnObjectSeesChangesOfOtherDevices() async throws {
        let (phone, tablet, anna, copy) = try await MappedDevice.pairWithAnna(in: cloud)
        let changes = Mutex(0)
        let age = withObservationTracking {
            copy.age
        } onChange: {
            changes.withLock { $0 += 1 }
        }
        #expect(age == 18)
        anna.edit { $0.age = 44 }
        try await phone.mapping.save(anna)
        try await tablet.sync()
        #expect(changes.withLock { $0 } == 1)
        #expect(copy.age == 44)
    }

    @Test func undoneEditSyncsToOtherDevices() async throws {
        let phone = try await MappedDevice(cloud, "phone")
        let tablet = try await MappedDevice(cloud, "tablet")
        let anna = phone.addPerson("Anna")
        anna.edit { $0.age = 44 }
        try await phone.sync()
        try await tablet.sync()
        #expect(tablet.person("Anna")?.age == 44)
        #expect(anna.undo())
        #expect(anna.age == 18)
        try await phone.mapping.save(anna)
        try await tablet.sync()
        #expect(tablet.person("Anna")?.age == 18)
        #expect(!CloudObject<HomeFields>().undo())
    }

    /// A row of a table, with a foreign key instead of an object.
    struct Hut: CloudKeyed, Codable, FetchableRecord, PersistableRecord {
        static let cloudMap = CloudMap<Hut>("Hut")
            .field(\.name, "name").reference(\.valleyID, to: Valley.self, "valley")
        var syncID: String? = UUID().uuidString
        var changeDate: Date?
        var name = ""
        var valleyID: String?
    }

    struct Valley: CloudKeyed, Codable, FetchableRecord, PersistableRecord {
        static let cloudMap = CloudMap<Valley>("Valley").field(\.name, "name")
        var syncID: String? = UUID().uuidString
        var changeDate: Date?
        var name = ""
    }

    /// The tables of an app, one for each type.
    struct Tables: CloudStore {
        let queue: DatabaseQueue

        init() throws {
            queue = try DatabaseQueue()
            try queue.write { database in
                for table in ["hut", "valley"] {
                    try database.create(table: table) { table in
                        table.primaryKey("syncID", .text)
                        table.column("changeDate", .datetime)
                        table.column("name", .text)
                        table.column("valleyID", .text)
                    }
                }
            }
        }

        private func table<E: CloudEntity>(_ type: E.Type) throws
            -> any (FetchableRecord & PersistableRecord).Type
        {
            guard let table = type as? any (FetchableRecord & PersistableRecord).Type else {
                throw MappingError(.notSetUp, "Make \(type) a record of GRDB.")
            }
            return table
        }

        func all<E: CloudEntity>(_ type: E.Type) async throws -> [E] {
            func rows<R: FetchableRecord & PersistableRecord>(_ row: R.Type) throws -> [E] {
                try queue.read { try R.fetchAll($0) }.compactMap { $0 as? E }
            }
            return try rows(try table(type))
        }

        func create<E: CloudEntity>(_ type: E.Type, syncID: String) async throws -> E {
            let made: any CloudEntity =
                type == Hut.self ? Hut(syncID: syncID) : Valley(syncID: syncID)
            try await keep(made)
            guard let entity = made as? E else {
                throw MappingError(.notSetUp, "Say how a row of \(type) is made.")
            }
            return entity
        }

        func fetch<E: CloudEntity>(_ type: E.Type, syncID: String) async throws -> E? {
            try await all(type).first(where: E.predicate(forSyncID: syncID))
        }

        func remove<E: CloudEntity>(_ type: E.Type, syncID: String) async throws {
            func delete<R: FetchableRecord & PersistableRecord>(_ row: R.Type) throws {
                _ = try queue.write { try R.deleteOne($0, key: syncID) }
            }
            try delete(try table(type))
        }

        func keep<E: CloudEntity>(_ entity: E) async throws {
            func save<R: PersistableRecord>(_ row: R) throws {
                try queue.write { try row.save($0) }
            }
            if let row = entity as? any PersistableRecord { try save(row) }
        }
    }

    private func device(_ name: String) async throws -> (mapping: CloudMapping, tables: Tables) {
        let tables = try Tables()
        let container = try await cloud.container(
            "iCloud.org.example.Huts", user: "alice", device: name)
        let mapping = try CloudMapping(
            database: container.privateCloudDatabase, types: [Hut.self, Valley.self],
            store: tables, file: nil)
        return (mapping, tables)
    }

    @Test func rowsOfTablesSyncWithTheirForeignKeys() async throws {
        let phone = try await device("phone")
        let tablet = try await device("tablet")
        let now = TestClock().now
        let valley = Valley(changeDate: now, name: "Long valley")
        let hut = Hut(changeDate: now, name: "Lake hut", valleyID: valley.syncID)
        try await phone.tables.keep(valley)
        try await phone.tables.keep(hut)
        // The row's target is saved with it.
        try await phone.mapping.save(hut)
        try await tablet.mapping.syncEntities()
        var copy = try #require(try await tablet.tables.all(Hut.self).first)
        #expect(copy.name == "Lake hut")
        #expect(copy.valleyID == valley.syncID)
        #expect(try await tablet.tables.all(Valley.self).map(\.name) == ["Long valley"])
        copy.name = "Old hut"
        copy.changeDate = now.addingTimeInterval(60)
        try await tablet.tables.keep(copy)
        try await tablet.mapping.syncEntities()
        try await phone.mapping.syncEntities()
        #expect(try await phone.tables.all(Hut.self).map(\.name) == ["Old hut"])
        try await phone.tables.remove(Hut.self, syncID: hut.syncID ?? "")
        try await phone.mapping.delete(hut)
        try await tablet.mapping.syncEntities()
        #expect(try await tablet.tables.all(Hut.self).isEmpty)
    }

    /// A target of weak references, which is ignored while it is a draft.
    struct Lake: CloudKeyed {
        static let cloudMap = CloudMap<Lake>("Lake")
            .field(\.name, "name").weak().ignore(when: \.isDraft)
        var syncID: String? = UUID().uuidString
        var changeDate: Date?
        var name = ""
        var isDraft = false
    }

    struct Boat: CloudKeyed {
        static let cloudMap = CloudMap<Boat>("Boat")
            .field(\.name, "name").reference(\.lakeID, to: Lake.self, "lake")
            .references(\.visitedIDs, to: Lake.self, "visited")
        var syncID: String? = UUID().uuidString
        var changeDate: Date?
        var name = ""
        var lakeID: String?
        var visitedIDs: [String] = []
    }

    /// The service refuses a weak reference to a record that it does not have.
    @Test func rowIsSavedWithoutItsWeakReferencesToIgnoredRows() async throws {
        let types: [any CloudEntity.Type] = [Boat.self, Lake.self]
        let phone = try await MappedDevice(cloud, "phone", types: types)
        let tablet = try await MappedDevice(cloud, "tablet", types: types)
        let now = TestClock().now
        let lake = phone.add(Lake(changeDate: now, name: "Long lake"))
        let draft = phone.add(Lake(changeDate: now, name: "Draft", isDraft: true))
        let visited = [lake, draft].compactMap(\.syncID)
        let boat = phone.add(
            Boat(changeDate: now, name: "Swan", lakeID: draft.syncID, visitedIDs: visited))
        let earlier = now.addingTimeInterval(-60)
        _ = tablet.add(Boat(syncID: boat.syncID, changeDate: earlier))
        _ = tablet.add(Lake(syncID: lake.syncID, changeDate: earlier))
        for device in [phone, tablet] { try await device.sync() }
        let record = try await phone.record(boat.syncID)
        #expect(record["name"] == "Swan")
        #expect(record.object(forKey: "lake") == nil)
        let references: [CKRecord.Reference]? = record["visited"]
        let lakeID = try #require(lake.syncID)
        #expect(references?.map(\.recordID.recordName) == [lakeID])
        // The other device does not have the draft; this one keeps its references to it.
        var copy = try #require(tablet.store.memory.object(Boat.self, syncID: boat.syncID ?? ""))
        copy.name = "Heron"
        copy.changeDate = now.addingTimeInterval(60)
        tablet.store.memory.insert(copy)
        for device in [tablet, phone] { try await device.sync() }
        try await phone.sync(forced: true)
        let row = try #require(phone.store.memory.object(Boat.self, syncID: boat.syncID ?? ""))
        #expect(row.name == "Heron" && row.lakeID == draft.syncID && row.visitedIDs == visited)
    }

    private func deviceInMemory(_ name: String) async throws -> MappedDevice {
        try await MappedDevice(cloud, name, types: [Hut.self, Valley.self])
    }

    private func name(of hut: Hut, on device: MappedDevice) -> String? {
        device.store.memory.object(Hut.self, syncID: hut.syncID ?? "")?.name
    }

    @Test func rowEditedDuringItsSaveKeepsTheEdit() async throws {
        let phone = try await deviceInMemory("phone")
        let now = TestClock().now
        let hut = phone.add(Hut(changeDate: now, name: "Lake hut"))
        phone.transport.before(RecordsModify.self) { [memory = phone.store.memory] in
            var row = hut
            row.name = "Old hut"
            row.changeDate = now.addingTimeInterval(60)
            memory.insert(row)
        }
        try await phone.mapping.save(hut)
        phone.transport.before(RecordsModify.self) {}
        #expect(name(of: hut, on: phone) == "Old hut")
        #expect(try await phone.record(hut.syncID)["name"] == "Lake hut")
        try await phone.sync()
        #expect(try await phone.record(hut.syncID)["name"] == "Old hut")
    }

    /// The app edits a row between the fields of its record and the references.
    @Test func rowEditedWhileItIsFilledKeepsTheEdit() async throws {
        let phone = try await deviceInMemory("phone")
        let tablet = try await deviceInMemory("tablet")
        let now = TestClock().now
        let hut = phone.add(Hut(changeDate: now, name: "Lake hut"))
        _ = tablet.add(Hut(syncID: hut.syncID, changeDate: now.addingTimeInterval(-60)))
        try await phone.sync()
        tablet.store.hooks.withLock { hooks in
            hooks.keep = { entity in
                tablet.store.hooks.withLock { $0.keep = nil }
                guard var row = entity as? Hut else { return }
                row.name = "Old hut"
                row.changeDate = now.addingTimeInterval(60)
                tablet.store.memory.insert(row)
            }
        }
        try await tablet.sync()
        #expect(name(of: hut, on: tablet) == "Old hut")
        try await tablet.sync()
        try await phone.sync()
        #expect(name(of: hut, on: phone) == "Old hut")
    }
}
