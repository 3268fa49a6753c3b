import StratusWire

extension UsersPermission: ServedEndpoint {
    public static let rules = EndpointRules<Self>(
        access: .user, endsSession: false, isRepeatable: true,
        cost: { _ in 0 }, zoneNames: { _ in [] }, link: { _, _ in })

    public static func answer(
        _ request: Request, in context: RequestContext, with components: ServiceComponents
    ) async throws -> Answer {
        let user = try context.user()
        let directory = components.directory
        if let isDiscoverable = request.userDiscoverability {
            try await directory.setDiscoverable(isDiscoverable, user, in: context.address)
            return Answer(userDiscoverability: isDiscoverable)
        }
        return Answer(
            userDiscoverability: try await directory.isDiscoverable(user, in: context.address))
    }
}
