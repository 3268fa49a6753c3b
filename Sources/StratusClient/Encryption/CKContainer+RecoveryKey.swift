import Foundation

// Stratus's own: on Apple's platforms the keychain carries keys from device to device.
extension CKContainer {
    /// The key of the account's encrypted values, to be written down or brought to another device.
    ///
    /// Made when the account has none yet. Who has it can read all encrypted values of the user in
    /// this container; without it, and without a device that has it, they are lost.
    ///
    /// - Throws: `CKError.accountTemporarilyUnavailable` when the key is on another device.
    public func recoveryKey() async throws -> String {
        RecoveryKey.text(
            of: try await connection.keyring.accountKey(
                core: core, pace: defaults.pace(connection.world)))
    }

    /// Gives this device the key of the account's encrypted values; posts `CKAccountChanged`.
    ///
    /// Fetch again what was fetched before: its encrypted values read as nil.
    ///
    /// - Throws: `CKError.invalidArguments` for a text with a mistake, or another account's key.
    public func useRecoveryKey(_ text: String) async throws {
        guard let key = RecoveryKey.key(text) else {
            throw CKError(.invalidArguments, "Correct the recovery key: it has a mistake.")
        }
        try await connection.keyring.use(key, core: core, pace: defaults.pace(connection.world))
        NotificationCenter.default.post(name: .CKAccountChanged, object: nil)
    }
}
