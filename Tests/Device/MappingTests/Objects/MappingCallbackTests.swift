import StratusClient
import StratusMapping
import StratusTesting
import StratusWire
import Synchronization
import Testing

/// What an app may call inside the callbacks of its store.
@Suite(.timeLimit(.minutes(20)))
struct MappingCallbackTests {
    let cloud = TestCloud()

    @Test func syncInsideItsOwnCallbackThrows() async throws {
        let phone = try await MappedDevice(cloud, "phone")
        _ = phone.addPerson("Anna")
        phone.store.hooks.withLock {
            $0.didFinish = { [mapping = phone.mapping] in try await mapping.syncEntities() }
        }
        let error = await #expect(throws: MappingError.self) { try await phone.sync() }
        #expect(error?.code == .insideCallback)
        phone.store.hooks.withLock { $0 = .init() }
        try await phone.sync()
        #expect(try await phone.records("Person").count == 1)
    }

    /// An app that saves the next object when one has been saved.
    @Test func didSaveCallbackCanSaveAndSync() async throws {
        let phone = try await MappedDevice(cloud, "phone")
        let (anna, bea) = (phone.addPerson("Anna"), phone.addPerson("Bea"))
        phone.store.hooks.withLock {
            $0.didSave = { [mapping = phone.mapping] entity, _, _ in
                guard entity as? Person === anna else { return }
                await #expect(throws: Never.self) {
                    try await mapping.save(bea)
                    try await mapping.syncEntities()
                }
            }
        }
        try await phone.mapping.save(anna)
        #expect(try await phone.records("Person").count == 2)
    }

    @Test func didSaveHasTheObjectWithItsIDAndTheRecordOrTheError() async throws {
        let phone = try await MappedDevice(cloud, "phone")
        let anna = phone.addPerson("Anna")
        let received = Mutex<[String]>([])
        phone.store.hooks.withLock {
            $0.didSave = { entity, record, error in
                let name = (entity as? Person)?.syncID
                received.withLock {
                    $0.append(
                        "\(entity as? Person === anna) \(name != nil)"
                            + " \(record?.recordID.recordName == name) \(error is CKError)")
                }
            }
        }
        try await phone.mapping.save(anna)
        phone.transport.isOffline = true
        anna.edit { $0.age = 3 }
        await #expect(throws: CKError.self) { try await phone.mapping.save(anna) }
        #expect(received.withLock { $0 } == ["true true true false", "true true false true"])
    }

    /// A person edits an object while a sync fetches an older change of it.
    @Test func editDuringASyncIsNotOverwritten() async throws {
        let (phone, tablet, anna, copy) = try await MappedDevice.pairWithAnna(in: cloud)
        anna.edit { $0.age = 1 }
        try await phone.sync()
        tablet.store.hooks.withLock { $0.didFinish = { copy.edit { $0.age = 2 } } }
        try await tablet.sync()
        #expect(copy.age == 2)
        tablet.store.hooks.withLock { $0 = .init() }
        try await tablet.sync()
        try await phone.sync()
        #expect(anna.age == 2)
    }

    /// A person edits and saves an object while a sync fetches an older change of it.
    @Test func editSavedDuringASyncIsNotOverwritten() async throws {
        let (phone, tablet, anna, copy) = try await MappedDevice.pairWithAnna(in: cloud)
        anna.edit { $0.age = 1 }
        anna.changeDate = TestClock().now.addingTimeInterval(4e8)
        try await phone.sync()
        tablet.store.hooks.withLock { hooks in
            hooks.didFinish = { [store = tablet.store, mapping = tablet.mapping] in
                store.hooks.withLock { $0.didFinish = nil }
                copy.edit { $0.age = 2 }
                copy.changeDate = TestClock().now.addingTimeInterval(5e8)
                try await mapping.save(copy)
            }
        }
        try await tablet.sync()
        #expect(copy.age == 2)
        for device in [tablet, phone] { try await device.sync() }
        #expect(copy.age == 2)
        #expect(anna.age == 2)
    }

    /// The references of a new object come after its fields; an edit in between keeps both.
    @Test func editBetweenFieldsAndReferencesIsKept() async throws {
        let phone = try await MappedDevice(cloud, "phone")
        let tablet = try await MappedDevice(cloud, "tablet")
        let home = phone.addHome("Lake Road")
        let anna = phone.addPerson("Anna") { $0.home = home }
        let bea = phone.addPerson("Bea") { $0.home = home }
        try await phone.sync()
        let other = tablet.addHome("Hill Road")
        tablet.store.hooks.withLock {
            $0.keep = { entity in
                guard let person = entity as? Person, person.age == 18 else { return }
                person.edit {
                    $0.age = 19
                    if $0.firstName == "Bea" { $0.home = other }
                }
            }
        }
        try await tablet.sync()
        #expect(tablet.person("Anna")?.home?.road == "Lake Road")
        #expect(tablet.person("Bea")?.home?.road == "Hill Road")
        tablet.store.hooks.withLock { $0 = .init() }
        try await tablet.sync()
        try await phone.sync()
        #expect(anna.age == 19)
        #expect(anna.home === home)
        #expect(bea.home?.road == "Hill Road")
    }

    /// The process may end during the request, and the next one would save an object without a name once more.
    @Test func nameOfANewObjectIsKeptBeforeItIsSent() async throws {
        let phone = try await MappedDevice(cloud, "phone")
        let anna = phone.addPerson("Anna")
        let steps = Mutex<[String]>([])
        phone.store.hooks.withLock { hooks in
            hooks.keep = { entity in
                let name = (entity as? Person)?.syncID ?? "none"
                steps.withLock { $0.append(name) }
            }
        }
        phone.transport.before(RecordsModify.self) { steps.withLock { $0.append("request") } }
        try await phone.mapping.save(anna)
        let name = try #require(anna.syncID)
        #expect(steps.withLock { $0 } == [name, "request", name])
        phone.store.hooks.withLock { $0 = .init() }
        phone.transport.before(RecordsModify.self) {}
    }

    /// The mapping is still saving the object while its store keeps it: a save that waits is refused there.
    @Test func waitingSaveInsideKeepThrowsAndOtherSavesAreDeferred() async throws {
        let phone = try await MappedDevice(cloud, "phone")
        let (anna, bea) = (phone.addPerson("Anna"), phone.addPerson("Bea"))
        phone.store.hooks.withLock {
            $0.keep = { [store = phone.store, mapping = phone.mapping] entity in
                guard entity as? Person === anna else { return }
                store.hooks.withLock { $0.keep = nil }
                CloudMapping.$current.withValue(mapping) { bea.iCloud.save() }
                let error = await #expect(throws: MappingError.self) {
                    try await mapping.save(bea)
                }
                #expect(error?.code == .insideCallback)
            }
        }
        try await phone.mapping.save(anna)
        // Three saves are reported: the refused one, the one without waiting, and Anna's.
        await phone.store.waitForSaves(3)
        #expect(try await phone.records("Person").count == 2)
    }
}
