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
}
