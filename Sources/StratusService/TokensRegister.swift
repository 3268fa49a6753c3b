import StratusRecords
import StratusStorage
import StratusWire

extension TokensRegister: ServedEndpoint {
    public static let access = EndpointAccess.user

    public static func answer(
        _ request: Request, in context: RequestContext
    ) async throws -> Answer {
        guard (request.clientID?.utf8.count ?? 0) <= Accounts.clientIDBytes else {
            throw ServiceError.longClientID
        }
        let directory = context.service.storehouse.directory
        guard var device = try await directory.device(pushToken: request.apnsToken),
            device.userRecordName == (try context.user()), device.address == context.address
        else { throw ServiceError.unknownPushToken }
        device.isRegistered = true
        device.clientID = request.clientID ?? device.clientID
        device.lastUsedMilliseconds = context.service.settings.nowMilliseconds()
        try await directory.put(device)
        return Answer()
    }
}
