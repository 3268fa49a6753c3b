import StratusWire

extension UsersCaller: ServedEndpoint {
    public static let access = EndpointAccess.user

    public static func answer(
        _ request: Request, in context: RequestContext
    ) async throws -> Answer {
        Answer(identity: UserIdentityDictionary(userRecordName: try context.user()))
    }
}
