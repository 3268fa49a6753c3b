import StratusWire

extension UsersCaller: ServedEndpoint {
    public static let access = EndpointAccess.user

    /// The caller's record name, and to an app in which the caller can be found, name and e-mail address.
    public static func answer(
        _ request: Request, in context: RequestContext
    ) async throws -> Answer {
        Answer(identity: try await context.callersIdentity())
    }
}
