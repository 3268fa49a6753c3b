import StratusWire

extension UsersPermission: ServedEndpoint {
    public static let rules = EndpointRules<Self>(
        access: .user, effect: .idempotent, isCompressed: false,
        cost: { _ in 0 }, zones: { _ in [] }, link: { _, _ in })

    /// Answers whether others may find the caller in the container. If the request has a value, it is stored first.
    public static func answer(_ call: EndpointCall<Self>) async throws -> Answer {
        let user = try call.context.user()
        let directory = call.components.directory
        if let isDiscoverable = call.request.userDiscoverability {
            try await directory.setDiscoverable(isDiscoverable, user, in: call.context.address)
            return Answer(userDiscoverability: isDiscoverable)
        }
        return Answer(
            userDiscoverability: try await directory.isDiscoverable(user, in: call.context.address))
    }
}
