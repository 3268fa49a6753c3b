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

/// `users/lookup/contacts` (deprecated): the people in the caller's address book, which this service does not have.
public enum UsersLookupContacts: Endpoint {
    public static let path = "users/lookup/contacts"
    public static let isReadWithoutBody = true

    public typealias Request = EmptyBody
    public typealias Answer = UsersLookupAnswer
}

/// The people to look up.
public struct UsersLookupRequest: WireObject, Hashable, Sendable {
    /// The people, by e-mail address in ``UsersLookupEmail`` and by record name in ``UsersLookupID``; at most
    /// `Limits.operationsPerRequest`.
    public var users: [UserLookupInfo] = []

    /// Makes a request to look people up.
    public init(users: [UserLookupInfo]) {
        self.users = users
    }

    public init() {}

    public mutating func members<C: WireCoder & ~Copyable>(_ coder: inout C) throws(C.Failure) {
        try coder.defaulted("users", &users)
    }
}

/// The people who were found; the others are left out.
public typealias UsersLookupAnswer = ListBody<UserDictionary>

/// A person in the older form.
public struct UserDictionary: WireObject, Hashable, Sendable {
    /// The record name of the user who was found.
    public var userRecordName = ""
    /// The given name; nil if there is none or other users cannot find the person in the container.
    public var firstName: String?
    /// The family name; nil if there is none or other users cannot find the person in the container.
    public var lastName: String?
    /// The address of the lookup as it was sent; nil in `users/lookup/id`.
    public var emailAddress: String?

    /// Makes a person who was found.
    public init(
        userRecordName: String, firstName: String? = nil, lastName: String? = nil,
        emailAddress: String? = nil
    ) {
        self.userRecordName = userRecordName
        self.firstName = firstName
        self.lastName = lastName
        self.emailAddress = emailAddress
    }

    public init() {}

    public mutating func members<C: WireCoder & ~Copyable>(_ coder: inout C) throws(C.Failure) {
        try coder.required("userRecordName", &userRecordName)
        try coder.optional("firstName", &firstName)
        try coder.optional("lastName", &lastName)
        try coder.optional("emailAddress", &emailAddress)
    }
}

extension UserDictionary: ListItem {
    public static var listKey: StaticString { "users" }
}
