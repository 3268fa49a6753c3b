import Foundation

// Not in CloudKit: on Apple's platforms the keychain transfers keys between devices.
extension CKContainer {
    /// The key of the account's encrypted values, to be written down or transferred to another device.
    ///
    /// Created when the account has none yet. Anyone who has it can read all encrypted values of
    /// the user in this container; without it, and without a device that has it, they are lost.
    ///
    /// - Throws: `CKError.accountTemporarilyUnavailable` when the key is on another device.
    public func recoveryKey() async throws -> String {
        RecoveryKey.text(of: try await connection.keyring.accountKey(keyringCaller))
    }

    /// Gives this device the key of the account's encrypted values; posts `CKAccountChanged`.
    ///
    /// Fetch again the records that were fetched before: their encrypted values read as nil.
    ///
    /// - Throws: `CKError.invalidArguments` for a text with a mistake, for another account's key, and
    ///   when this device has another key: see ``forgetRecoveryKey()``.
    public func useRecoveryKey(_ text: String) async throws {
        guard let key = RecoveryKey.key(text) else {
            throw CKError(
                .invalidArguments,
                "The recovery key has a mistake; compare it with the one on the other device.")
        }
        try await connection.keyring.use(key, keyringCaller)
        NotificationCenter.default.post(name: .CKAccountChanged, object: connection)
    }

    /// Removes the key of the account's encrypted values from this device; the values then read as
    /// nil.
    ///
    /// Signing out does not remove it, because it may be the last copy. Call this before you sign
    /// out on a device that is given away.
    ///
    /// ```swift
    /// _ = try await container.forgetRecoveryKey()
    /// try container.connection.signOut()
    /// ```
    ///
    /// - Returns: the key, in case it is the last copy; nil when the device had none.
    public func forgetRecoveryKey() async throws -> String? {
        try await connection.keyring.remove(keyringCaller).map { RecoveryKey.text(of: $0) }
    }

    private var keyringCaller: CloudKeyring.Caller {
        CloudKeyring.Caller(core: core, pace: defaults.pace(connection.world))
    }
}
