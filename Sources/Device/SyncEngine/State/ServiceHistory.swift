import StratusRecords

/// A store's knowledge of the service's history, with which an engine detects what a restore of the service lost, as
/// `CloudCache` does.
package protocol ServiceHistory: AnyObject, Sendable {
    /// The change tags of a zone's changes that this device knows and that its token may not cover; the token counts as
    /// expired if the service has lost one of them.
    func knownChangeTags(of zone: ZoneID) -> [String]

    /// The last version of a zone, or of the database for nil, that the service and this device share, while everything
    /// is fetched after an expiry; nil if none is known.
    func lastIntactVersion(of zone: ZoneID?) -> Int64?

    /// Notes that the token of a zone, or of the database for nil, has expired. Called before the engine forgets the
    /// token.
    ///
    /// - Parameter version: the version that the service and this device share; nil if the service named none.
    /// - Returns: whether the expiry was noted; otherwise the engine keeps the token.
    func noteExpiry(of zone: ZoneID?, lastIntactVersion version: Int64?) -> Bool

    /// The zones of the service that this device knows: those that a full answer does not name were deleted.
    func zonesKnown() -> [ZoneID]

    /// Whether the store keeps the changes of a zone now; otherwise they are fetched later, with the same token.
    func keepsChanges(of zone: ZoneID) -> Bool

    /// The generations of those zones that are to be deleted, as far as the service has reported them.
    ///
    /// - Returns: nil if that cannot be read; then nothing may be deleted.
    func generationsToDelete(_ zones: [ZoneID]) -> [ZoneID: Int64]?
}
