/// The user and device of a change. It decides which changes a person made on this device. Names of
/// people and devices are only displayed, because they are not unique.
public struct ChangeOrigin: Hashable, Sendable {
    /// The user record name of who made it, as the service says; nil for the person of this device.
    public let creatorName: String?
    /// The random identifier that the device keeps on its disk; nil if the app that wrote the change was too old to
    /// say.
    public let deviceID: String?

    public init(creatorName: String? = nil, deviceID: String? = nil) {
        self.creatorName = creatorName
        self.deviceID = deviceID
    }

    /// Whether another person made the change.
    public var isOfOtherPerson: Bool { creatorName != nil }

    /// Whether the change was made on a device, by its own person.
    func isOf(_ device: String) -> Bool { creatorName == nil && deviceID == device }
}
