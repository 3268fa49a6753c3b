import StratusRecords

/// Whose key: a user's, in one environment of one container.
public struct CloudKeyAccount: Hashable, Sendable {
    public var container: String
    public var environment: ContainerEnvironment
    /// The user's record name.
    public var user: String

    public init(container: String, environment: ContainerEnvironment, user: String) {
        self.container = container
        self.environment = environment
        self.user = user
    }
}

/// Where a device keeps the keys of encrypted values: the part of a keychain on Linux.
///
/// Give one of your own to a ``CloudConnection`` to keep them in a key service or in hardware.
/// Nothing is taken away at a sign-out: the key may be the last one.
public protocol CloudKeyStore: Sendable {
    /// - Returns: nil when the device has no key of this account.
    func key(for account: CloudKeyAccount) throws -> [UInt8]?

    /// Keeps a key unless there is one already; returns when no loss of power can take it back.
    ///
    /// - Returns: the key that is kept from now on. Of several calls at a time, also by other
    ///   processes, all get the same.
    func addKey(_ key: [UInt8], for account: CloudKeyAccount) throws -> [UInt8]

    /// Takes away the key of an account, and its keyring.
    func removeKey(for account: CloudKeyAccount) throws

    /// The device's copy of the account's keyring: the keys of zones that others share, encrypted
    /// with the account's key; nil when there is none.
    ///
    /// A store that keeps none believes the service's keyring anew at each start.
    func keyring(for account: CloudKeyAccount) throws -> [UInt8]?

    /// Keeps a copy in the place of the one that is there.
    func keepKeyring(_ keyring: [UInt8], for account: CloudKeyAccount) throws

    /// The fields that this device encrypted in a container, whoever was signed in.
    ///
    /// They are no secrets. A store that keeps none lets the device send them in the clear after
    /// its next start, if a record is built so.
    func encryptedFields(
        of container: String, in environment: ContainerEnvironment
    ) throws -> Set<EncryptedField>

    /// Adds to these fields; returns when no loss of power can take them back. Of several calls at a
    /// time, also by other processes, none loses another's.
    func addEncryptedFields(
        _ fields: Set<EncryptedField>, of container: String, in environment: ContainerEnvironment
    ) throws

    /// Who is signed in at a service; nil for nobody.
    func signIn(at place: CloudSignInPlace) throws -> KeptSignIn?

    /// Keeps a sign-in in the place of the one that is there, where nobody else can read it.
    func keepSignIn(_ signIn: KeptSignIn, at place: CloudSignInPlace) throws

    /// Keeps a sign-in's next token; nothing where somebody signed out or in anew meanwhile, also in
    /// another process.
    func renewSignIn(_ signIn: KeptSignIn, at place: CloudSignInPlace) throws

    /// Takes away who is signed in.
    func removeSignIn(at place: CloudSignInPlace) throws
}

extension CloudKeyStore {
    // For stores that were written before sign-ins were kept: the person signs in at each start.

    /// None.
    public func signIn(at place: CloudSignInPlace) throws -> KeptSignIn? { nil }

    /// Keeps none.
    public func keepSignIn(_ signIn: KeptSignIn, at place: CloudSignInPlace) throws {}

    /// Keeps none.
    public func renewSignIn(_ signIn: KeptSignIn, at place: CloudSignInPlace) throws {}

    /// There is none.
    public func removeSignIn(at place: CloudSignInPlace) throws {}

    /// None: for stores that were written before there was such a memory.
    public func encryptedFields(
        of container: String, in environment: ContainerEnvironment
    ) throws -> Set<EncryptedField> { [] }

    /// Keeps none.
    public func addEncryptedFields(
        _ fields: Set<EncryptedField>, of container: String, in environment: ContainerEnvironment
    ) throws {}
}

/// Why a key could not be read or kept.
public struct CloudKeyStoreError: Error, Sendable {
    /// A constant sentence that says what to do.
    public var sentence: String
    public var path: String
    public var cause: (any Error)?
}

extension CloudKeyStoreError {
    /// Runs `body`, and says as an error of the framework why it failed.
    ///
    /// - Parameter sentence: What to do about an error that a store of an app's own throws.
    static func translating<Value>(
        otherwise sentence: String, _ body: () throws -> Value
    ) throws -> Value {
        do {
            return try body()
        } catch {
            let own = (error as? CloudKeyStoreError)?.sentence
            throw CKError(.permissionFailure, own ?? sentence, cause: error)
        }
    }
}
