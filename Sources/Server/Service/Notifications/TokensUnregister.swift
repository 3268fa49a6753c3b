import StratusRecords
import StratusStorage
import StratusWire

extension TokensUnregister: ServedEndpoint {
    public static let rules = EndpointRules<Self>(
        access: .user, effect: .once, isCompressed: false,
        cost: { _ in 0 }, zones: { _ in [] }, link: { _, _ in })

    /// A token that is unknown, or another user's, is left alone: to the caller it is not registered.
    public static func answer(_ call: EndpointCall<Self>) async throws -> Answer {
        let user = try call.context.user()
        for token in [call.request.apnsToken, NativeToken(call.request.apnsToken)?.text].compactMap(
            { $0 })
        {
            let rows = try await call.components.directory.devices(pushToken: token)
            guard
                rows.contains(where: {
                    $0.userRecordName == user && $0.address == call.context.address
                })
            else { continue }
            try await call.components.devices.delete(token, in: call.context.address)
        }
        return Answer()
    }
}
