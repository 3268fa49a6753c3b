import StratusRecords

/// A key with which an app may use a container.
public struct APITokenRow: Hashable, Sendable {
    public var token: String
    public var address: ContainerAddress
    public var name: String
    /// The origins whose pages may use the token, such as `https://trails.example.org`; empty for all.
    public var allowedOrigins: [String]
    /// Where a browser goes after the sign-in; nil for a page that passes the token to its opener.
    public var callbackURL: String?
    /// Milliseconds since 1970.
    public var createdMilliseconds: Int64

    public init(
        token: String, address: ContainerAddress, name: String, allowedOrigins: [String] = [],
        callbackURL: String? = nil, createdMilliseconds: Int64 = 0
    ) {
        self.token = token
        self.address = address
        self.name = name
        self.allowedOrigins = allowedOrigins
        self.callbackURL = callbackURL
        self.createdMilliseconds = createdMilliseconds
    }
}

/// A user, or the user as whom a server-to-server key writes.
public struct UserRow: Hashable, Sendable {
    /// `_` and 32 hexadecimal digits.
    public var recordName: String
    /// What the user signs in with; the e-mail address of those who sign in with a password.
    public var name: String
    /// In lowercase.
    public var emailAddress: String?
    /// Whether the address is verified. At most one user has a verified address.
    public var isEmailVerified: Bool
    /// The password's hash with its parameters; nil for those who cannot sign in with one.
    public var passwordHash: String?
    public var givenName: String?
    public var familyName: String?
    public var isDisabled: Bool
    /// Whether the account is being deleted with its user's data; true until it is gone.
    public var isBeingRemoved: Bool
    /// Milliseconds since 1970.
    public var createdMilliseconds: Int64

    public init(
        recordName: String, name: String, emailAddress: String? = nil,
        isEmailVerified: Bool = false, passwordHash: String? = nil, givenName: String? = nil,
        familyName: String? = nil, isDisabled: Bool = false, isBeingRemoved: Bool = false,
        createdMilliseconds: Int64 = 0
    ) {
        self.recordName = recordName
        self.name = name
        self.emailAddress = emailAddress
        self.isEmailVerified = isEmailVerified
        self.passwordHash = passwordHash
        self.givenName = givenName
        self.familyName = familyName
        self.isDisabled = isDisabled
        self.isBeingRemoved = isBeingRemoved
        self.createdMilliseconds = createdMilliseconds
    }
}

/// A sign-in on one device or browser. Web-auth tokens name it.
public struct SessionRow: Hashable, Sendable {
    public var identifier: String
    public var userRecordName: String
    public var staysSignedIn: Bool
    /// Milliseconds since 1970.
    public var createdMilliseconds: Int64
    /// The container that it is valid for; nil for all, which only a service in development mode creates.
    public var address: ContainerAddress?
    /// Milliseconds since 1970; not updated at each use.
    public var lastUsedMilliseconds: Int64
    /// The name that the session's device sends; nil before its first request, and when it sends none.
    public var device: String?

    public init(
        identifier: String, userRecordName: String, staysSignedIn: Bool, createdMilliseconds: Int64,
        address: ContainerAddress? = nil, lastUsedMilliseconds: Int64? = nil,
        device: String? = nil
    ) {
        self.identifier = identifier
        self.userRecordName = userRecordName
        self.staysSignedIn = staysSignedIn
        self.createdMilliseconds = createdMilliseconds
        self.address = address
        self.lastUsedMilliseconds = lastUsedMilliseconds ?? createdMilliseconds
        self.device = device
    }
}

/// A user's identity at an identity provider (OpenID Connect).
public struct IdentityRow: Hashable, Sendable {
    public var issuer: String
    public var subject: String

    public init(issuer: String, subject: String) {
        self.issuer = issuer
        self.subject = subject
    }
}

/// A key with which a server signs requests to a container's public database.
public struct ServerKeyRow: Hashable, Sendable {
    /// 64 hexadecimal digits.
    public var identifier: String
    public var address: ContainerAddress
    public var name: String
    /// The public key as PEM (SubjectPublicKeyInfo).
    public var publicKey: String
    /// The user as whom it writes.
    public var userRecordName: String
    /// Milliseconds since 1970.
    public var createdMilliseconds: Int64
    /// Signatures dated up to this time may have been accepted before a restart. Milliseconds since 1970.
    public var spentThroughMilliseconds: Int64

    public init(
        identifier: String, address: ContainerAddress, name: String, publicKey: String,
        userRecordName: String, createdMilliseconds: Int64, spentThroughMilliseconds: Int64 = 0
    ) {
        self.identifier = identifier
        self.address = address
        self.name = name
        self.publicKey = publicKey
        self.userRecordName = userRecordName
        self.createdMilliseconds = createdMilliseconds
        self.spentThroughMilliseconds = spentThroughMilliseconds
    }
}
