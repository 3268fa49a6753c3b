import Foundation

/// What this device thinks of the key in a share's link.
public enum CKShareLinkKeyTrust: Int, Sendable {
    /// The link has none; encrypted values cannot be read by it.
    case missing = 0
    /// The device has no key of the zone yet: joining by the link takes this one.
    case new = 1
    /// It is the key with which the device encrypts values of the zone.
    case trusted = 2
    /// The device has another key, which stays until ``CKContainer/trustLinkKey(of:keepsFormerKeys:)``.
    case different = 3
}

// Stratus's own: with Apple's service no link has a key.
extension CKContainer {
    /// Compares the key in a link with what this device has of the share's zone.
    ///
    /// A `different` key means that the owner lost theirs and made a new one, or that the link is
    /// somebody else's who wants to read what is written there. Only a person can tell: ask whether
    /// the owner sent the link.
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

    /// Encrypts values of the share's zone with the key in the link from now on, on all devices of the
    /// user; they learn of it before their first save there after a start, or by the first value that
    /// needs it. Fetch again what was fetched before.
    ///
    /// - Parameter keepsFormerKeys: whether what was encrypted with the keys so far is still read;
    ///   false when one of them was never the owner's.
    /// - Parameter metadata: of the share, from its link.
    /// - Throws: `CKError.invalidArguments` for a link without a key.
    public func trustLinkKey(
        of metadata: CKShare.Metadata, keepsFormerKeys: Bool = true
    ) async throws {
        guard let key = metadata.linkKey else {
            throw CKError(
                .invalidArguments, "The share's link has no key; open the whole link.")
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
