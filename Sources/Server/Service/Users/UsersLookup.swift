import StratusRecords
import StratusWire

extension UsersLookupEmail: ServedEndpoint {
    public static let access = EndpointAccess.user

    public static func answer(
        _ request: Request, in context: RequestContext
    ) async throws -> Answer {
        try await context.people(
            request.users.map { UserLookupInfo(emailAddress: $0.emailAddress) })
    }
}

extension UsersLookupID: ServedEndpoint {
    public static let access = EndpointAccess.user

    public static func answer(
        _ request: Request, in context: RequestContext
    ) async throws -> Answer {
        try await context.people(
            request.users.map { UserLookupInfo(userRecordName: $0.userRecordName) })
    }
}

extension UsersLookupContacts: ServedEndpoint {
    public static let access = EndpointAccess.user

    public static func answer(
        _ request: Request, in context: RequestContext
    ) async throws -> Answer {
        Answer(users: [])
    }
}

extension RequestContext {
    /// Those who can be found, in the order of the request.
    fileprivate func people(_ infos: [UserLookupInfo]) async throws -> UsersLookupAnswer {
        try checkCount(infos.count)
        var users: [UserDictionary] = []
        for info in infos {
            let identity = try await identity(lookedUpBy: info)
            guard let name = identity.userRecordName else { continue }
            users.append(
                UserDictionary(
                    userRecordName: name, firstName: identity.givenName,
                    lastName: identity.familyName, emailAddress: info.emailAddress))
        }
        return UsersLookupAnswer(users: users)
    }
}
