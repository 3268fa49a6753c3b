import Foundation

/// How the key in a share's link compares with the key that this device has.
public enum CKShareLinkKeyTrust: Int, Sendable {
    /// The link has no key; encrypted values cannot be read with it.
    case missing = 0
    /// The device has no key of the zone yet: joining by the link adopts this one.
    case new = 1
    /// It is the key with which the device encrypts values of the zone.
    case trusted = 2
    /// The device has a different key, which it keeps until
    /// ``CKContainer/trustLinkKey(of:keepsFormerKeys:)``.
    case different = 3
}

// Not in CloudKit: links of Apple's service have no keys.
extension CKContainer {
    /// Compares the key in a link with the key that this device has for the share's zone.
    ///
    /// A `different` key means either that the owner lost their key and created a new one, or that
    /// someone else created the link to read what is saved in the zone. Only a person can know
    /// which: ask the user whether the owner sent the link.
    ///
    /// ```swift
    /// if try await container.linkKeyTrust(of: metadata) == .different, userSaysOwnerSentIt {
    ///     try await container.trustLinkKey(of: metadata)
    /// }
    /// ```
    public func linkKeyTrust(of metadata: CKShare.Metadata) async throws -> CKShareLinkKeyTrust {
        guard let key = metadata.linkKey else { return .missing }
        let keys = try await connection.keyring.zoneKeys(
            of: metadata.share.recordID.zoneID, for: .reading(marks: [key.mark]),
            keyringCaller(metadata))
        guard let trusted = keys.first else { return .new }
        return trusted == key ? .trusted : .different
    }

    /// Uses the key in the link to encrypt values of the share's zone from now on, on all devices
    /// of the user. The other devices get the key before their first save in the zone after a
    /// start, or with the first value that needs it. Fetch again the records that were fetched
    /// before.
    ///
    /// - Parameter keepsFormerKeys: whether values encrypted with the former keys are still read;
    ///   pass false when one of them was never the owner's.
    /// - Parameter metadata: the share's metadata, fetched by its link.
    /// - Throws: `CKError.invalidArguments` for a link without a key.
    public func trustLinkKey(
        of metadata: CKShare.Metadata, keepsFormerKeys: Bool = true
    ) async throws {
        guard let key = metadata.linkKey else {
            throw CKError(
                .invalidArguments,
                "The link of the share \(metadata.share.recordID.recordName) has no key; open the whole"
                    + " link.")
        }
        try await connection.keyring.replace(
            key, of: metadata.share.recordID.zoneID, keepsFormer: keepsFormerKeys,
            keyringCaller(metadata))
    }

    private func keyringCaller(_ metadata: CKShare.Metadata) -> CloudKeyring.Caller {
        let identifier = metadata.containerIdentifier
        return CloudKeyring.Caller(
            core: identifier == core.identifier
                ? core : ContainerCore(identifier: identifier, connection: connection),
            pace: defaults.pace(connection.world))
    }
}
