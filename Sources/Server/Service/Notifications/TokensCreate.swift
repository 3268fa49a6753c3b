import StratusRecords
import StratusRuntime
import StratusStorage
import StratusWire

extension TokensCreate: ServedEndpoint {
    public static let rules = EndpointRules<Self>(
        access: .user, effect: .once, isCompressed: false,
        cost: { _ in 0 }, zones: { _ in [] }, link: { _, _ in })

    /// The address of the long poll begins with the origin of the service; in process it is only a path.
    public static func answer(_ call: EndpointCall<Self>) async throws -> Answer {
        _ = try pushEnvironment(call.request.apnsEnvironment, of: call.request.clientID)
        let device = DeviceRow(
            pushToken: newPushToken(call.components.settings.world), address: call.context.address,
            userRecordName: try call.context.user(),
            clientID: call.request.clientID ?? call.context.caller.device,
            lastUsedMilliseconds: call.context.nowMilliseconds, isRegistered: false)
        try await call.components.devices.put(device, ofSession: call.context.caller.session)
        let lifetimeSeconds = Int(call.context.limits.pushTokenSeconds)
        return Answer(
            apnsEnvironment: call.request.apnsEnvironment, apnsToken: device.pushToken,
            webcourierURL: call.context.origin
                + "/courier/aps?tok=\(device.pushToken)&ttl=\(lifetimeSeconds)")
    }

    /// Random bytes in base64 that needs no escaping in an address: 33 bytes need no padding, and two letters replace
    /// the two signs.
    private static func newPushToken(_ world: World) -> String {
        String(
            Base64.text(world.randomBytes(33)).map {
                $0 == "+" ? "A" : $0 == "/" ? "B" : $0
            })
    }
}

/// The environment for a device's push token.
///
/// - Parameter clientID: the device's identifier, whose length is checked.
func pushEnvironment(_ name: String, of clientID: String?) throws -> ContainerEnvironment {
    guard (clientID?.utf8.count ?? 0) <= Accounts.clientIDBytes else {
        throw ServiceError.longClientID
    }
    guard let environment = ContainerEnvironment(rawValue: name) else {
        throw ServiceError.unknownPushEnvironment
    }
    return environment
}
