import StratusTesting
import Testing

extension MappedDevice {
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
