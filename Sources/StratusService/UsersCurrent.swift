import StratusWire

extension UsersCurrent: ServedEndpoint {
    public static let access = EndpointAccess.user

    public static func answer(
        _ request: Request, in context: RequestContext
    ) async throws -> Answer {
        Answer(userRecordName: try context.user())
    }
}
