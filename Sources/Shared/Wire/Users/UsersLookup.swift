import StratusRecords

/// `users/lookup/email` (deprecated by `users/discover`): people by their e-mail addresses.
public enum UsersLookupEmail: Endpoint {
    public static let path = "users/lookup/email"

    public typealias Request = UsersLookupRequest
    public typealias Answer = UsersLookupAnswer
}

/// `users/lookup/id` (deprecated by `users/discover`): people by their record names.
public enum UsersLookupID: Endpoint {
    public static let path = "users/lookup/id"

    public typealias Request = UsersLookupRequest
    public typealias Answer = UsersLookupAnswer
}

/// `users/lookup/contacts` (deprecated): the people in the caller's address book, of whom this service
/// knows none.
public enum UsersLookupContacts: Endpoint {
    public static let path = "users/lookup/contacts"
    public static let isReadWithoutBody = true

    public typealias Request = EmptyBody
    public typealias Answer = UsersLookupAnswer
}

/// Whom to look up.
public struct UsersLookupRequest: WireValue {
    public var users: [UserLookupInfo]

    public init(users: [UserLookupInfo]) {
        self.users = users
    }
}

/// The people who were found; who was not is left out.
public struct UsersLookupAnswer: WireValue {
    public var users: [UserDictionary]

    public init(users: [UserDictionary]) {
        self.users = users
    }
}

/// A person in the older form.
public struct UserDictionary: WireValue {
    public var userRecordName: String
    public var firstName: String?
    public var lastName: String?
    public var emailAddress: String?

    public init(
        userRecordName: String, firstName: String? = nil, lastName: String? = nil,
        emailAddress: String? = nil
    ) {
        self.userRecordName = userRecordName
        self.firstName = firstName
        self.lastName = lastName
        self.emailAddress = emailAddress
    }
}

extension UsersLookupRequest {
    public init(wire node: JSONNode) throws(WireError) {
        try node.expectObject()
        self.init(users: try node.optional("users") ?? [])
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { $0.member("users", users) }
    }
}

extension UsersLookupAnswer {
    public init(wire node: JSONNode) throws(WireError) {
        self.init(users: try node.required("users"))
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { $0.member("users", users) }
    }
}

extension UserDictionary {
    public init(wire node: JSONNode) throws(WireError) {
        self.init(
            userRecordName: try node.required("userRecordName"),
            firstName: try node.optional("firstName"), lastName: try node.optional("lastName"),
            emailAddress: try node.optional("emailAddress"))
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("userRecordName", userRecordName)
            writer.optional("firstName", firstName)
            writer.optional("lastName", lastName)
            writer.optional("emailAddress", emailAddress)
        }
    }
}
