import StratusWire

extension UsersPermission: ServedEndpoint {
    public static let access = EndpointAccess.user

    public static func answer(
        _ request: Request, in context: RequestContext
    ) async throws -> Answer {
        let user = try context.user()
        let directory = context.service.storehouse.directory
        if let isDiscoverable = request.userDiscoverability {
            try await directory.setDiscoverable(isDiscoverable, user, in: context.address)
            return Answer(userDiscoverability: isDiscoverable)
        }
        return Answer(
            userDiscoverability: try await directory.isDiscoverable(user, in: context.address))
    }
}
