import StratusRecords

/// What a store of all records knows of the service's history, with which an engine notices what a restore of the service
/// lost, as `CloudCache` does by itself.
package protocol ServiceHistory: AnyObject, Sendable {
    /// The change tags of a zone's changes that this device knows and its token may not cover: the token counts as expired where
    /// the service has lost one of them.
    func knownChangeTags(of zone: ZoneID) -> [String]

    /// The version that the service and this device share, of a zone, or of the database for nil, while everything is
    /// fetched after an expiry; nil where none is known.
    func lastIntactVersion(of zone: ZoneID?) -> Int64?

    /// Notes that the token of a zone, or of the database for nil, has expired, before the engine forgets it.
    ///
    /// - Parameter version: the version that the service and this device share; nil if the service named none.
    /// - Returns: whether it is noted; otherwise the engine keeps the token.
    func noteExpiry(of zone: ZoneID?, lastIntactVersion version: Int64?) -> Bool
}
