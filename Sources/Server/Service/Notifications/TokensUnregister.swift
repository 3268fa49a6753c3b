import StratusRecords
import StratusStorage
import StratusWire

extension TokensUnregister: ServedEndpoint {
    public static let rules = EndpointRules<Self>(
        access: .user, endsSession: false, isRepeatable: false,
        cost: { _ in 0 }, zoneNames: { _ in [] }, link: { _, _ in })

    /// A token that is unknown, or another user's, is left alone: to the caller it is not registered.
    public static func answer(
        _ request: Request, in context: RequestContext, with components: ServiceComponents
    ) async throws -> Answer {
        let user = try context.user()
        for token in [request.apnsToken, NativeToken(request.apnsToken)?.text].compactMap({ $0 }) {
            let rows = try await components.directory.devices(pushToken: token)
            guard
                rows.contains(where: { $0.userRecordName == user && $0.address == context.address })
            else { continue }
            try await components.devices.delete(token, in: context.address)
        }
        return Answer()
    }
}
