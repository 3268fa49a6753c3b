import StratusRecords
import StratusStorage
import StratusWire

extension TokensCreate: ServedEndpoint {
    public static let access = EndpointAccess.user
    public static let endsSession = false
    public static let isRepeatable = false
    public static let expiredTokens = ExpiredTokens<Self>.none

    public static func cost(of request: Request) -> Double { 0 }
    public static func zoneNames(in request: Request) -> Set<String> { [] }
    public static func link(_ answer: inout Answer, _ links: inout AssetLinks) {}

    /// The address of the long poll is a path; the HTTP server puts its origin before it.
    public static func answer(
        _ request: Request, in context: RequestContext, with components: ServiceComponents
    ) async throws -> Answer {
        guard (request.clientID?.utf8.count ?? 0) <= Accounts.clientIDBytes else {
            throw ServiceError.longClientID
        }
        guard ContainerEnvironment(rawValue: request.apnsEnvironment) != nil else {
            throw ServiceError.unknownPushEnvironment
        }
        let settings = components.settings
        let device = DeviceRow(
            pushToken: newPushToken(settings), address: context.address,
            userRecordName: try context.user(),
            clientID: request.clientID ?? context.caller.device,
            lastUsedMilliseconds: context.nowMilliseconds, isRegistered: false)
        try await components.devices.put(device)
        let lifetimeSeconds = Int(context.limits.pushTokenSeconds)
        return Answer(
            apnsEnvironment: request.apnsEnvironment, apnsToken: device.pushToken,
            webcourierURL: "/courier/aps?tok=\(device.pushToken)&ttl=\(lifetimeSeconds)")
    }

    /// Base64 of random bytes that needs no escaping in an address: 33 bytes need no padding, and two
    /// letters stand in for the two signs.
    private static func newPushToken(_ settings: ServiceSettings) -> String {
        String(
            Base64.text(settings.world.randomBytes(33)).map {
                $0 == "+" ? "A" : $0 == "/" ? "B" : $0
            })
    }
}
