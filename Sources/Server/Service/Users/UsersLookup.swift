import StratusRecords
import StratusStorage
import StratusWire

extension UsersLookupEmail: ServedEndpoint {
    public static let rules = EndpointRules<Self>(
        access: .user, endsSession: false, isRepeatable: true,
        cost: { Double($0.users.count) / 160 }, zoneNames: { _ in [] }, link: { _, _ in })

    public static func answer(
        _ request: Request, in context: RequestContext, with components: ServiceComponents
    ) async throws -> Answer {
        try await context.people(
            request.users.map { UserLookupInfo(emailAddress: $0.emailAddress) },
            in: components.directory)
    }
}

extension UsersLookupID: ServedEndpoint {
    public static let rules = EndpointRules<Self>(
        access: .user, endsSession: false, isRepeatable: true,
        cost: { Double($0.users.count) / 160 }, zoneNames: { _ in [] }, link: { _, _ in })

    public static func answer(
        _ request: Request, in context: RequestContext, with components: ServiceComponents
    ) async throws -> Answer {
        try await context.people(
            request.users.map { UserLookupInfo(userRecordName: $0.userRecordName) },
            in: components.directory)
    }
}

extension UsersLookupContacts: ServedEndpoint {
    public static let rules = EndpointRules<Self>(
        access: .user, endsSession: false, isRepeatable: true,
        cost: { _ in 0 }, zoneNames: { _ in [] }, link: { _, _ in })

    public static func answer(
        _ request: Request, in context: RequestContext, with components: ServiceComponents
    ) async throws -> Answer {
        Answer([])
    }
}

extension RequestContext {
    /// The users who can be found, in the order of the request.
    fileprivate func people(
        _ infos: [UserLookupInfo], in directory: any Directory
    ) async throws -> UsersLookupAnswer {
        try checkCount(infos.count)
        var users: [UserDictionary] = []
        for info in infos {
            let identity = try await identity(lookedUpBy: info, in: directory)
            guard let name = identity.userRecordName else { continue }
            users.append(
                UserDictionary(
                    userRecordName: name, firstName: identity.givenName,
                    lastName: identity.familyName, emailAddress: info.emailAddress))
        }
        return UsersLookupAnswer(users)
    }
}
