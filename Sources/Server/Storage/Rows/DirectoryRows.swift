// The rows of the directory.

import StratusRecords

/// A key with which an app may use a container.
public struct APITokenRow: Hashable, Sendable {
    /// The key itself: 64 hexadecimal digits.
    public var token: String
    /// The only container and environment in which the token is valid.
    public var address: ContainerAddress
    /// What the operator calls the token, for lists; at most 255 bytes.
    public var name: String
    /// The origins whose pages may use the token, such as `https://trails.example.org`; empty for all.
    public var allowedOrigins: [String]
    /// Where a browser goes after the sign-in; nil for a page that passes the token to its opener.
    public var callbackURL: String?
    /// Milliseconds since 1970.
    public var createdMilliseconds: Int64

    /// Makes an API token's row; by default pages of all origins may use the token, and it has no callback URL.
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

/// A user: a person, or the user under whose name a server-to-server key writes.
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
    /// The user's given name, at most 100 characters; nil when unknown.
    public var givenName: String?
    /// The user's family name, at most 100 characters; nil when unknown.
    public var familyName: String?
    /// Whether the operator disabled the account, or it is being deleted: the user's requests are refused.
    public var isDisabled: Bool
    /// Whether the account is being deleted with its user's data; true until it is gone.
    public var isBeingRemoved: Bool
    /// Milliseconds since 1970.
    public var createdMilliseconds: Int64

    /// Makes a user's row; by default of an enabled user without e-mail address, password and names.
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
    /// The name of the session in web-auth tokens: 32 hexadecimal digits.
    public var identifier: String
    /// The record name of the user who signed in.
    public var userRecordName: String
    /// Whether web-auth tokens last for `Limits.staySignedInSeconds`, instead of `Limits.webAuthTokenSeconds`.
    public var staysSignedIn: Bool
    /// Milliseconds since 1970.
    public var createdMilliseconds: Int64
    /// The container that it is valid for; nil for all, which only a service in development mode creates.
    public var address: ContainerAddress?
    /// Milliseconds since 1970; not updated at each use.
    public var lastUsedMilliseconds: Int64
    /// The name that the session's device sends; nil before its first request, and when it sends none.
    public var device: String?

    /// Makes a session's row.
    ///
    /// - Parameter lastUsedMilliseconds: By default when the session was created.
    public init(
        identifier: String, userRecordName: String, staysSignedIn: Bool, createdMilliseconds: Int64,
        address: ContainerAddress? = nil, lastUsedMilliseconds: Int64? = nil,
        device: String? = nil
    ) {
        self.lastUsedMilliseconds = lastUsedMilliseconds ?? createdMilliseconds
        self.identifier = identifier
        self.userRecordName = userRecordName
        self.staysSignedIn = staysSignedIn
        self.createdMilliseconds = createdMilliseconds
        self.address = address
        self.device = device
    }
}

/// A user's identity at an identity provider (OpenID Connect).
public struct IdentityRow: Hashable, Sendable {
    /// The `iss` of the provider's identity tokens, such as `https://appleid.apple.com`.
    public var issuer: String
    /// The `sub` of the identity tokens: what the provider calls the user.
    public var subject: String

    /// Names the user of a provider.
    public init(issuer: String, subject: String) {
        self.issuer = issuer
        self.subject = subject
    }
}

/// A key with which a server signs requests to a container's public database.
public struct ServerKeyRow: Hashable, Sendable {
    /// 64 hexadecimal digits.
    public var identifier: String
    /// The container and environment whose public database the server may use.
    public var address: ContainerAddress
    /// What the operator calls the key, for lists; at most 255 bytes.
    public var name: String
    /// The public key as PEM (SubjectPublicKeyInfo).
    public var publicKey: String
    /// The record name of the user under whose name it writes.
    public var userRecordName: String
    /// Milliseconds since 1970.
    public var createdMilliseconds: Int64
    /// Signatures dated up to this time may have been accepted before a restart. Milliseconds since 1970.
    public var spentThroughMilliseconds: Int64

    /// Makes the row of a server-to-server key; by default none of its signatures was accepted yet.
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

/// The database in which the share of a link is found.
public struct ShortGUIDRow: Hashable, Sendable {
    /// The end of the link that the service made: 24 characters, of 18 random bytes.
    public var shortGUID: String
    /// The container and environment of the owner's private database.
    public var address: ContainerAddress
    /// The owner's user record name.
    public var owner: String

    /// Makes the row of a link.
    public init(shortGUID: String, address: ContainerAddress, owner: String) {
        self.shortGUID = shortGUID
        self.address = address
        self.owner = owner
    }
}

/// A device that listens for one container's notifications.
public struct DeviceRow: Hashable, Sendable {
    /// For the courier, base64; for Apple's push service, hexadecimal digits.
    public var pushToken: String
    /// The container and environment whose notifications it gets.
    public var address: ContainerAddress
    /// The record name of the user who is signed in on the device.
    public var userRecordName: String
    /// The identifier that the device sends with its requests, so that it is not notified of its own changes.
    public var clientID: String
    /// Milliseconds since 1970.
    public var lastUsedMilliseconds: Int64
    /// Whether `tokens/register` was called: only then are the container's notifications sent to the token.
    public var isRegistered: Bool
    /// How notifications come to the device; decides which form ``pushToken`` has.
    public var channel: Channel

    /// How notifications come to the device. The raw values are stored.
    public enum Channel: Int, Hashable, Sendable {
        /// The long poll of the web courier.
        case courier = 0
        /// Apple's push service for apps under development.
        case apnsDevelopment = 1
        /// Apple's push service.
        case apnsProduction = 2
    }

    /// Makes a device's row; by default of one that the web courier reaches.
    public init(
        pushToken: String, address: ContainerAddress, userRecordName: String, clientID: String,
        lastUsedMilliseconds: Int64, isRegistered: Bool, channel: Channel = .courier
    ) {
        self.channel = channel
        self.pushToken = pushToken
        self.address = address
        self.userRecordName = userRecordName
        self.clientID = clientID
        self.lastUsedMilliseconds = lastUsedMilliseconds
        self.isRegistered = isRegistered
    }
}

/// All that is stored of a container's schema.
public struct SchemaRows: Hashable, Sendable {
    /// Counts the changes of types, fields, marks, roles, grants and role members. 0 at first; it never decreases.
    public var version: Int64
    /// In the order of types, then fields, by their bytes.
    public var fields: [SchemaFieldRow]
    /// The roles besides those of `BuiltInRole`.
    public var roles: [String]
    /// The grants; a type without any has the standard grants.
    public var grants: [SchemaGrantRow]
    /// The users who have roles of the schema, by role and record name.
    public var members: [RoleMemberRow]

    /// Makes the rows of a schema; by default an empty one of version 0.
    public init(
        version: Int64 = 0, fields: [SchemaFieldRow] = [], roles: [String] = [],
        grants: [SchemaGrantRow] = [], members: [RoleMemberRow] = []
    ) {
        self.version = version
        self.fields = fields
        self.roles = roles
        self.grants = grants
        self.members = members
    }
}

/// What one role may do with the public records of one type.
public struct SchemaGrantRow: Hashable, Sendable {
    /// The record type whose public records the role may use.
    public var recordType: String
    /// The name of the role: one of `BuiltInRole` or of the schema's own.
    public var role: String
    /// All that the role may do. WRITE includes READ even where READ is not listed.
    public var permissions: RecordPermissions

    /// Makes the row of what a role may do with a type.
    public init(recordType: String, role: String, permissions: RecordPermissions) {
        self.recordType = recordType
        self.role = role
        self.permissions = permissions
    }
}

/// A user who has a role.
public struct RoleMemberRow: Hashable, Sendable {
    /// The user's record name.
    public var user: String
    /// The name of one of the schema's own roles.
    public var role: String

    /// Makes the row of a user who has a role.
    public init(user: String, role: String) {
        self.user = user
        self.role = role
    }
}

/// A field of a record type, or the marks of a `SchemaSystemField` in it. A type without either has
/// one row whose field is nil.
public struct SchemaFieldRow: Hashable, Sendable {
    /// The name of the record type.
    public var recordType: String
    /// The name of the field, or the `SchemaSystemField` name of a system field; nil for the type itself.
    public var field: String?
    /// The type of the field's values; nil for the row of the type itself.
    public var type: FieldType?
    /// Whether devices encrypt the field's values.
    public var isEncrypted: Bool
    /// What queries may do with the field.
    public var indexes: FieldIndexes

    /// Makes the row of a field, or of a type itself when `field` and `type` are nil.
    public init(
        recordType: String, field: String?, type: FieldType?, isEncrypted: Bool = false,
        indexes: FieldIndexes = []
    ) {
        self.recordType = recordType
        self.field = field
        self.type = type
        self.isEncrypted = isEncrypted
        self.indexes = indexes
    }

    /// The marks of a system field.
    public init(recordType: String, _ field: SchemaSystemField, indexes: FieldIndexes) {
        self.init(
            recordType: recordType, field: field.rawValue, type: field.type, indexes: indexes)
    }

    /// Whether it is a field of the app, not a system field or a type without fields.
    var isUserField: Bool { field.map { !$0.hasPrefix("___") } ?? false }
}
