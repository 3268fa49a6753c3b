import StratusRecords
import StratusStorage
import StratusWire

extension TokensUnregister: ServedEndpoint {
    public static let rules = EndpointRules<Self>(
        access: .user, effect: .once, isCompressed: false,
        cost: { _ in 0 }, zones: { _ in [] }, link: { _, _ in })

    /// A token that is unknown, or another user's, is left alone: to the caller it is not registered.
    public static func answer(_ call: EndpointCall<Self>) async throws -> Answer {
        let token = call.request.apnsToken
        for pushToken in [token, NativeToken(token)?.text].compactMap(\.self) {
            try await call.components.devices.delete(
                pushToken, of: call.context.user(), in: call.context.address)
        }
        return Answer()
    }
}
