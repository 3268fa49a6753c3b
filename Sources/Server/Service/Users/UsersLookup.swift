import StratusRecords
import StratusStorage
import StratusWire

extension UsersLookupEmail: ServedEndpoint {
    public static let rules = EndpointRules<Self>(
        access: .user, effect: .idempotent, isCompressed: false,
        cost: { Double($0.users.count) / 160 }, zones: { _ in [] }, link: { _, _ in })

    /// Returns the users with these e-mail addresses, as far as they can be found.
    public static func answer(_ call: EndpointCall<Self>) async throws -> Answer {
        try await call.context.people(call.request, by: \.emailAddress, call.components.directory)
    }
}

extension UsersLookupID: ServedEndpoint {
    public static let rules = EndpointRules<Self>(
        access: .user, effect: .idempotent, isCompressed: false,
        cost: UsersLookupEmail.rules.cost,
        zones: { _ in [] }, link: { _, _ in })

    /// Returns the users with these record names, as far as they can be found.
    public static func answer(_ call: EndpointCall<Self>) async throws -> Answer {
        try await call.context.people(call.request, by: \.userRecordName, call.components.directory)
    }
}

extension UsersLookupContacts: ServedEndpoint {
    public static let rules = EndpointRules<Self>(
        access: .user, effect: .idempotent, isCompressed: false,
        cost: { _ in 0 }, zones: { _ in [] }, link: { _, _ in })

    /// Returns no users, because the service knows no address books.
    public static func answer(_ call: EndpointCall<Self>) async throws -> Answer {
        Answer([])
    }
}

extension RequestContext {
    /// The users who can be found, in the order of the request.
    ///
    /// - Parameter key: The part of what the request says of a person by which the person is looked up.
    fileprivate func people(
        _ request: UsersLookupRequest, by key: WritableKeyPath<UserLookupInfo, String?> & Sendable,
        _ directory: any Directory
    ) async throws -> UsersLookupAnswer {
        try checkCount(request.users.count)
        var users: [UserDictionary] = []
        for asked in request.users {
            var info = UserLookupInfo()
            info[keyPath: key] = asked[keyPath: key]
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
