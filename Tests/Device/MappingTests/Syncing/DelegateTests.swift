import Foundation
import StratusClient
import StratusMapping
import StratusTesting
import Testing

/// A store that applies the changes of a sync itself, as the delegate of document 004 does.
private final class OwnStore: CloudStore {
    let memory = MemoryStore(Person.self, Home.self, Course.self, Ticket.self, Tool.self)

    func all<E: CloudEntity>(_ type: E.Type) async throws -> [E] { try await memory.all(type) }

    func create<E: CloudEntity>(_ type: E.Type, syncID: String) async throws -> E {
        try await memory.create(type, syncID: syncID)
    }

    func fetch<E: CloudEntity>(_ type: E.Type, syncID: String) async throws -> E? {
        try await memory.fetch(type, syncID: syncID)
    }

    func remove<E: CloudEntity>(_ type: E.Type, syncID: String) async throws {
        try await memory.remove(type, syncID: syncID)
    }

    func syncDidFinish<E: CloudEntity>(_ changes: SyncChanges<E>) async throws {
        for record in changes.newRecords + changes.updatedRecords {
            let name = record.recordID.recordName
            var entity = try await fetch(E.self, syncID: name)
            if entity == nil { entity = try await create(E.self, syncID: name) }
            try await entity?.iCloud.update(from: record, fetchReferences: true)
        }
        for gone in changes.deleted {
            try await memory.remove(gone.entityType, syncID: gone.syncID)
        }
        try await changes.finish()
    }
}

/// The finished callback of a sync: raw records, deleted objects with their types, and `finish`.
@Suite(.timeLimit(.minutes(20)))
struct DelegateTests {
    static let scopes = [CKDatabase.Scope.private, .public]
    let cloud = TestCloud()

    @Test func callbackReceivesUnappliedRecordsWithReferences() async throws {
        let phone = try await MappedDevice(cloud, "phone")
        let tablet = try await MappedDevice(cloud, "tablet")
        let home = phone.addHome("Lake Road")
        let anna = phone.addPerson("Anna") { $0.home = home }
        try await phone.mapping.save(anna)
        tablet.store.finishes.withLock { $0 = false }
        try await tablet.mapping.syncEntities(specific: [Person.self])
        let records = tablet.store.received.withLock { $0.records }
        #expect(records.map(\.recordID.recordName) == [anna.syncID])
        #expect(records.first?["firstName"] == "Anna")
        let address: CKRecord.Reference? = records.first?["address"]
        #expect(address?.recordID.recordName == home.syncID)
        // The reference was not loaded, and no record was applied.
        #expect(tablet.store.memory.objects(Home.self).isEmpty)
        #expect(tablet.person("Anna") == nil)
    }

    @Test(arguments: scopes)
    func documentedDelegateLoopAppliesAllChanges(scope: CKDatabase.Scope) async throws {
        let phone = try await MappedDevice(cloud, "phone", scope: scope)
        let container = try await cloud.container(
            MappedDevice.container, user: "alice", device: "tablet")
        let store = OwnStore()
        let tablet = try CloudMapping(
            database: container.database(with: scope),
            types: [Person.self, Home.self, Course.self],
            store: store, file: nil)
        func sync() async throws {
            try await CloudMapping.$current.withValue(tablet) { try await tablet.syncEntities() }
        }
        let home = phone.addHome("Lake Road")
        let anna = phone.addPerson("Anna") { $0.home = home }
        let bea = phone.addPerson("Bea")
        home.edit { $0.owner = anna }
        try await phone.sync()
        try await sync()
        let copies = store.memory.objects(Person.self).sorted { $0.firstName < $1.firstName }
        #expect(copies.map(\.firstName) == ["Anna", "Bea"])
        #expect(copies.first?.home?.road == "Lake Road")
        #expect(copies.first?.home?.owner === copies.first)
        anna.edit { $0.age = 66 }
        try await phone.mapping.save(anna)
        try await phone.mapping.delete(bea)
        copies.first?.home?.edit { $0.road = "Hill Road" }
        try await sync()
        #expect(store.memory.objects(Person.self).map(\.age) == [66])
        // The edit made on this device is sent by `finish`.
        #expect(try await phone.record(home.syncID)["road"] == "Hill Road")
    }
}
