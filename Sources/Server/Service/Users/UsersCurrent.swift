import StratusWire

extension UsersCurrent: ServedEndpoint {
    public static let rules = EndpointRules<Self>(
        access: .user, effect: .idempotent, isCompressed: false,
        cost: { _ in 0 }, zones: { _ in [] }, link: { _, _ in })

    /// Answers the caller's record name, and the name if the caller is discoverable in the app.
    public static func answer(_ call: EndpointCall<Self>) async throws -> Answer {
        let identity = try await call.context.callersIdentity(in: call.components.directory)
        return Answer(
            userRecordName: try call.context.user(), firstName: identity.givenName,
            lastName: identity.familyName)
    }
}
