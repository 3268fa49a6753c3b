import StratusRecords

/// Stores the keys of encrypted values on a device, as a keychain does on Apple's platforms.
///
/// Pass your own store to a ``CloudConnection`` to keep the keys in a key service or in hardware. Signing out removes
/// no key, because it may be the last copy.
public protocol CloudKeyStore: Sendable {
    /// - Returns: nil when the device has no key of this account.
    func key(for account: CloudKeyAccount) throws -> [UInt8]?

    /// Stores a key unless there is one already; returns when the key is durable.
    ///
    /// - Returns: the stored key. Concurrent calls, also by other processes, all get the same.
    func addKey(_ key: [UInt8], for account: CloudKeyAccount) throws -> [UInt8]

    /// Removes the key of an account, and its keyring.
    func removeKey(for account: CloudKeyAccount) throws

    /// The device's copy of the account's keyring: the keys of zones that others share, encrypted
    /// with the account's key; nil when there is none.
    ///
    /// With a store that keeps no copy, the device trusts the service's keyring at each start.
    func keyring(for account: CloudKeyAccount) throws -> [UInt8]?

    /// Stores a copy of the keyring, replacing the former one.
    func keepKeyring(_ keyring: [UInt8], for account: CloudKeyAccount) throws

    /// The fields that this device encrypted in a container, for any user.
    ///
    /// They are not secret. With a store that keeps none, the device can send them unencrypted
    /// after its next start, if an app sets them so.
    func encryptedFields(
        of container: String, in environment: ContainerEnvironment
    ) throws -> Set<EncryptedField>

    /// Adds fields; returns when they are durable. Concurrent calls, also by other processes, do
    /// not lose each other's fields.
    func addEncryptedFields(
        _ fields: Set<EncryptedField>, of container: String, in environment: ContainerEnvironment
    ) throws

    /// The sign-in at a service; nil when no user is signed in.
    func signIn(at place: CloudSignInPlace) throws -> KeptSignIn?

    /// Stores a sign-in where no other user can read it, replacing the former one.
    func keepSignIn(_ signIn: KeptSignIn, at place: CloudSignInPlace) throws

    /// Stores a sign-in's next token; does nothing if the user has signed out or in again
    /// meanwhile, also in another process.
    func renewSignIn(_ signIn: KeptSignIn, at place: CloudSignInPlace) throws

    /// Removes the sign-in.
    func removeSignIn(at place: CloudSignInPlace) throws
}

extension CloudKeyStore {
    // Defaults for stores that were written before sign-ins were stored: the person signs in at
    // each start.

    /// Returns nil: no sign-in is stored.
    public func signIn(at place: CloudSignInPlace) throws -> KeptSignIn? { nil }

    /// Does nothing: no sign-in is stored.
    public func keepSignIn(_ signIn: KeptSignIn, at place: CloudSignInPlace) throws {}

    /// Does nothing: no sign-in is stored.
    public func renewSignIn(_ signIn: KeptSignIn, at place: CloudSignInPlace) throws {}

    /// Does nothing: no sign-in is stored.
    public func removeSignIn(at place: CloudSignInPlace) throws {}

    /// Returns no fields; the default for stores that were written before encrypted fields were stored.
    public func encryptedFields(
        of container: String, in environment: ContainerEnvironment
    ) throws -> Set<EncryptedField> { [] }

    /// Does nothing: no fields are stored.
    public func addEncryptedFields(
        _ fields: Set<EncryptedField>, of container: String, in environment: ContainerEnvironment
    ) throws {}
}

/// An error of reading or storing a key.
public struct CloudKeyStoreError: Error, Sendable {
    /// A constant sentence that says what happened and what to do; ``path`` is added to it.
    public var sentence: String
    /// The path of the file that could not be read or written, or whose contents are not valid; empty if the store has
    /// no files.
    public var path: String
    /// The error of the file system, if there is one.
    public var cause: (any Error)?

    /// Makes the error of an app's own store; its sentence becomes the message of the `CKError` that the app gets.
    public init(sentence: String, path: String = "", cause: (any Error)? = nil) {
        self.sentence = sentence
        self.path = path
        self.cause = cause
    }
}

extension CloudKeyStoreError {
    /// Runs `body`, and translates its error into `CKError`.
    ///
    /// - Parameter sentence: the message for errors of other types, such as those of an app's own
    ///   store.
    static func translating<Value>(
        otherwise sentence: String, _ body: () throws -> Value
    ) throws -> Value {
        do {
            return try body()
        } catch {
            let own = (error as? CloudKeyStoreError).map {
                $0.path.isEmpty ? $0.sentence : "\($0.sentence) (\($0.path))"
            }
            throw CKError(.permissionFailure, own ?? sentence, cause: error)
        }
    }
}
