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
                core: core, pace: defaults.convenience.pace))
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
        try await connection.keyring.use(key, core: core, pace: defaults.convenience.pace)
        NotificationCenter.default.post(name: .CKAccountChanged, object: nil)
    }
}

extension ContainerCore {
    /// A share's link with the key of its zone, for the persons who will get it.
    ///
    /// - Parameter zoneID: the share's zone, as it is shown to the user.
    /// - Returns: the link as it is when this device has no key of the zone.
    func linkWithKey(
        _ url: URL, of zoneID: CKRecordZone.ID, pace: RequestPace
    ) async throws -> URL {
        do {
            // Made at the latest here, so that what is encrypted later is readable for who comes by
            // the link.
            let key = try await connection.keyring.zoneKey(
                for: zoneID, core: self, pace: pace, makesKey: true)
            return key.map { ShareLinkKey.link(url, with: $0) } ?? url
        } catch CKError.accountTemporarilyUnavailable {
            // The key is on another device; sharing does not depend on it.
            return url
        }
    }

    /// Keeps the key that a link carries, for the values of the zone that it leads to.
    ///
    /// - Parameter zoneID: the zone in the shared database, with its owner's name.
    func keepKey(
        of url: URL, for zoneID: CKRecordZone.ID, pace: RequestPace
    ) async throws {
        guard let key = ShareLinkKey.key(in: url) else { return }
        try await connection.keyring.add(key, of: zoneID, core: self, pace: pace)
    }
}
