import Foundation
import GRDB
import StratusClient
import StratusRecords

/// The keys of shares' links, which the service does not have.
extension CacheStore {
    /// The service's system fields of a record with the key of its share's link, if this device knows the key.
    ///
    /// - Parameter base: the base of the record's pending change, or what was sent.
    func keepingLinkKey(
        _ system: RecordSnapshot.SystemFields?, of name: String, base: RecordSnapshot? = nil,
        _ zone: CachedZoneRow, _ database: Database
    ) throws -> RecordSnapshot.SystemFields? {
        guard var kept = system, kept.sharing != nil else { return system }
        let stored = try Data.fetchOne(
            database.cachedStatement(
                sql: "SELECT system FROM record WHERE \(CacheFormat.isNamed)"),
            arguments: [zone.key, NameHash.of(name), name])
        if let stored,
            // A damaged row has no key, and is replaced.
            let former = try? stored.withUnsafeBytes(StoredSystem.decode)
        {
            kept.keepLinkKey(of: former)
        }
        if let former = base?.system { kept.keepLinkKey(of: former) }
        return kept
    }
}
