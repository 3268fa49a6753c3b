import StratusClient
import StratusMapping
import StratusTesting
import Testing

extension MappedDevice {
    /// Two devices of one person, which have not synced yet, and the phone's object of Anna.
    static func pairWithUnsavedAnna(
        in cloud: TestCloud, scope: CKDatabase.Scope,
        _ edit: (inout PersonFields) -> Void = { _ in }
    ) async throws -> (phone: MappedDevice, tablet: MappedDevice, anna: Person) {
        let phone = try await MappedDevice(cloud, "phone", scope: scope)
        let tablet = try await MappedDevice(cloud, "tablet", scope: scope)
        return (phone, tablet, phone.addPerson("Anna", edit))
    }

    /// Saves an object without a connection, which is back as soon as the mapping waits to try again.
    func saveOffline<Entity: CloudEntity>(
        _ entity: Entity, _ clock: TestClock, sourceLocation: SourceLocation = #_sourceLocation
    ) async {
        await #expect(throws: CKError.self, sourceLocation: sourceLocation) {
            try await mapping.save(entity)
        }
        await clock.waitForSleeper(seconds: 2.5...5)
        transport.isOffline = false
    }

    /// Two devices of one person, each with its own object for the same record.
    static func pairWithAnna(
        in cloud: TestCloud
    ) async throws -> (phone: MappedDevice, tablet: MappedDevice, anna: Person, copy: Person) {
        let phone = try await MappedDevice(cloud, "phone")
        let tablet = try await MappedDevice(cloud, "tablet")
        let anna = phone.addPerson("Anna")
        try await phone.sync()
        try await tablet.sync()
        return (phone, tablet, anna, try #require(tablet.person("Anna")))
    }

    /// Two devices of one person, which have Anna and her home: the phone's object of the home, and the tablet's.
    static func pairWithHome(
        in cloud: TestCloud
    ) async throws -> (
        phone: MappedDevice, tablet: MappedDevice, anna: Person, home: Home, copy: Home
    ) {
        let phone = try await MappedDevice(cloud, "phone")
        let tablet = try await MappedDevice(cloud, "tablet")
        let home = phone.addHome("Lake Road")
        let anna = phone.addPerson("Anna") { $0.home = home }
        for device in [phone, tablet] { try await device.sync() }
        return (phone, tablet, anna, home, try #require(tablet.person("Anna")?.home))
    }
}
