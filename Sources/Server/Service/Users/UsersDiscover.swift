import StratusRecords
import StratusStorage
import StratusWire

extension UsersDiscover: ServedEndpoint {
    public static let rules = EndpointRules<Self>(
        access: .user, effect: .idempotent, isCompressed: false,
        cost: { Double($0.lookupInfos.count) / 160 }, zones: { _ in [] }, link: { _, _ in })

    /// An identity without a name only means that no one was found: there may be no such user, or one who did not agree
    /// to be found in this container.
    public static func answer(_ call: EndpointCall<Self>) async throws -> Answer {
        try call.context.checkCount(call.request.lookupInfos.count)
        var users: [UserIdentityDictionary] = []
        for info in call.request.lookupInfos {
            var identity = try await call.context.identity(
                lookedUpBy: info, in: call.components.directory)
            identity.lookupInfo = info
            users.append(identity)
        }
        return Answer(users)
    }
}

extension RequestContext {
    /// The identity of a user who agreed to be found in this container, or of the caller; otherwise an empty one.
    ///
    /// An e-mail address finds only the user who has verified it.
    func identity(
        lookedUpBy info: UserLookupInfo, in directory: any Directory
    ) async throws -> UserIdentityDictionary {
        var user: UserRow?
        if let name = info.userRecordName {
            user = try await directory.user(recordName: name)
        } else if let address = info.emailAddress.flatMap(Accounts.normalised(emailAddress:)) {
            user = try await directory.user(verifiedEmailAddress: address)
        }
        // Read whether or not there is such a user, so that the time does not show it.
        let isDiscoverable = try await directory.isDiscoverable(
            user?.recordName ?? "", in: address)
        guard let user, !user.isDisabled, isDiscoverable || user.recordName == caller.userRecordName
        else { return UserIdentityDictionary(userRecordName: nil) }
        return UserIdentityDictionary(user, tellsName: isDiscoverable)
    }

    /// The caller, with name and address where the app may know them.
    func callersIdentity(
        in directory: any Directory
    ) async throws -> UserIdentityDictionary {
        let name = try user()
        guard let user = try await directory.user(recordName: name) else {
            throw ServiceError.signInNeeded
        }
        return UserIdentityDictionary(
            user, tellsName: try await directory.isDiscoverable(name, in: address))
    }
}

extension UserIdentityDictionary {
    init(_ user: UserRow, tellsName: Bool) {
        self.init(
            userRecordName: user.recordName, givenName: tellsName ? user.givenName : nil,
            familyName: tellsName ? user.familyName : nil,
            emailAddress: tellsName && user.isEmailVerified ? user.emailAddress : nil)
    }
}
