import StratusWire

extension UsersCurrent: ServedEndpoint {
    public static let access = EndpointAccess.user

    public static func answer(
        _ request: Request, in context: RequestContext
    ) async throws -> Answer {
        let identity = try await context.callersIdentity()
        return Answer(
            userRecordName: try context.user(), firstName: identity.givenName,
            lastName: identity.familyName)
    }
}
