import StratusRecords
import StratusStorage
import StratusWire

extension TokensCreate: ServedEndpoint {
    public static let access = EndpointAccess.user

    /// The address of the long poll is a path; the HTTP server puts its origin before it.
    public static func answer(
        _ request: Request, in context: RequestContext
    ) async throws -> Answer {
        guard (request.clientID?.utf8.count ?? 0) <= Accounts.clientIDBytes else {
            throw ServiceError.longClientID
        }
        let user = try context.user()
        let settings = context.service.settings
        let directory = context.service.storehouse.directory
        let device = DeviceRow(
            pushToken: newPushToken(settings), address: context.address, userRecordName: user,
            clientID: request.clientID ?? context.caller.device,
            lastUsedMilliseconds: settings.nowMilliseconds(), isRegistered: false)
        try await directory.put(device)
        let devices = try await directory.devices(of: user, in: context.address)
            .sorted { $0.lastUsedMilliseconds < $1.lastUsedMilliseconds }
            .filter { $0.pushToken != device.pushToken }
        for old in devices.dropLast(context.limits.devicesPerUser - 1) {
            try await directory.deleteDevice(pushToken: old.pushToken)
            await context.service.courier.forget(pushToken: old.pushToken)
        }
        let lifetimeSeconds = Int(context.limits.pushTokenSeconds)
        return Answer(
            apnsEnvironment: request.apnsEnvironment, apnsToken: device.pushToken,
            webcourierURL: "/courier/aps?tok=\(device.pushToken)&ttl=\(lifetimeSeconds)")
    }

    /// Base64 of random bytes that needs no escaping in an address: 33 bytes need no padding, and two
    /// letters stand in for the two signs.
    private static func newPushToken(_ settings: ServiceSettings) -> String {
        String(
            Base64.text(settings.randomBytes(33)).map {
                $0 == "+" ? "A" : $0 == "/" ? "B" : $0
            })
    }
}

extension CloudService {
    /// Checks a push token and notes that it is in use.
    func renew(pushToken: String) async throws {
        let now = settings.nowMilliseconds()
        let lifetime = Int64(settings.limits.pushTokenSeconds * 1000)
        guard var device = try await storehouse.directory.device(pushToken: pushToken) else {
            throw ServiceError.unknownPushToken
        }
        let age = now - device.lastUsedMilliseconds
        guard age < lifetime else {
            try await storehouse.directory.deleteDevice(pushToken: pushToken)
            await courier.forget(pushToken: pushToken)
            throw ServiceError.unknownPushToken
        }
        // Written seldom, since a poll comes every minute and each write waits for the disk.
        guard age > lifetime / 10 else { return }
        device.lastUsedMilliseconds = now
        try await storehouse.directory.put(device)
    }
}
