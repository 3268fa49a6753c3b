import StratusClient
import StratusMapping
import StratusTesting
import Testing

/// Records that this version of the app cannot read.
@Suite(.timeLimit(.minutes(20)))
struct UnreadableRecordTests {
    let cloud = TestCloud()

    /// Two devices with Anna and Bo, and the name of Anna's record, which the tablet cannot read any more.
    private func devices(
        _ scope: CKDatabase.Scope
    ) async throws -> (phone: MappedDevice, tablet: MappedDevice, anna: Person) {
        let (phone, tablet, anna) = try await MappedDevice.pairWithUnsavedAnna(
            in: cloud, scope: scope)
        let bo = phone.addPerson("Bo")
        for device in [phone, tablet] { try await device.sync() }
        anna.edit { $0.age = 30 }
        bo.edit { $0.age = 40 }
        try await phone.sync()
        let name = try #require(anna.syncID)
        tablet.transport.state.withLock { $0.unreadable = [name] }
        return (phone, tablet, anna)
    }

    private func code(of body: () async throws -> Void) async -> MappingError.Code? {
        do {
            try await body()
            return nil
        } catch {
            // The test compares the code.
            return (error as? MappingError)?.code
        }
    }

    @Test(arguments: [CKDatabase.Scope.private, .public])
    func unreadableRecordIsSetAsideUntilItChanges(scope: CKDatabase.Scope) async throws {
        let (phone, tablet, anna) = try await devices(scope)
        #expect(await code { try await tablet.sync() } == .unreadable)
        let copy = try #require(tablet.person("Anna"))
        #expect(copy.age == 18)
        #expect(tablet.person("Bo")?.age == 40)
        // An edit waits, and is not an error of each sync.
        copy.edit { $0.lastName = "Lake" }
        try await tablet.sync()
        #expect(try await phone.record(anna.syncID).object(forKey: "lastName") == nil)
        #expect(await code { try await tablet.mapping.save(copy) } == .unreadable)
        tablet.transport.state.withLock { $0.unreadable = [] }
        anna.edit { $0.age = 31 }
        try await phone.sync()
        try await tablet.sync()
        #expect(copy.age == 31)
        copy.edit { $0.age = 50 }
        try await tablet.sync()
        #expect(try await phone.record(anna.syncID)["age"] == 50)
    }

    @Test(arguments: [CKDatabase.Scope.private, .public])
    func unreadableRecordIsReadByANewerApp(scope: CKDatabase.Scope) async throws {
        let (_, tablet, _) = try await devices(scope)
        #expect(await code { try await tablet.sync(forced: true) } == .unreadable)
        #expect(tablet.person("Anna")?.age == 18)
        #expect(tablet.person("Bo")?.age == 40)
        let again = try await tablet.restarted()
        try await again.sync()
        #expect(again.person("Anna")?.age == 30)
    }

    @Test(arguments: [CKDatabase.Scope.private, .public])
    func objectOfAnUnreadableRecordIsDeletedWithIt(scope: CKDatabase.Scope) async throws {
        let (phone, tablet, anna) = try await devices(scope)
        #expect(await code { try await tablet.sync() } == .unreadable)
        phone.store.memory.remove(anna)
        try await phone.mapping.delete(anna)
        try await tablet.sync()
        #expect(tablet.person("Anna") == nil)
        #expect(tablet.person("Bo")?.age == 40)
    }
}
