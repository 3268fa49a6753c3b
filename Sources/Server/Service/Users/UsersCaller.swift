import StratusWire

extension UsersCaller: ServedEndpoint {
    public static let rules = EndpointRules<Self>(
        access: .user, endsSession: false, isRepeatable: true,
        cost: { _ in 0 }, zoneNames: { _ in [] }, link: { _, _ in })

    /// Answers the caller's record name, and the name and e-mail address if the caller is discoverable in the app.
    public static func answer(
        _ request: Request, in context: RequestContext, with components: ServiceComponents
    ) async throws -> Answer {
        Answer(identity: try await context.callersIdentity(in: components.directory))
    }
}
