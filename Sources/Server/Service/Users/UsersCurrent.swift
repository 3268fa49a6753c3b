import StratusWire

extension UsersCurrent: ServedEndpoint {
    public static let rules = EndpointRules<Self>(
        access: .user, endsSession: false, isRepeatable: true,
        cost: { _ in 0 }, zoneNames: { _ in [] }, link: { _, _ in })

    public static func answer(
        _ request: Request, in context: RequestContext, with components: ServiceComponents
    ) async throws -> Answer {
        let identity = try await context.callersIdentity(in: components.directory)
        return Answer(
            userRecordName: try context.user(), firstName: identity.givenName,
            lastName: identity.familyName)
    }
}
