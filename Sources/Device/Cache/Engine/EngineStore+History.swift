import StratusRecords
import StratusSyncEngine

/// What a restore of the service lost is found as by the cache's own syncing.
///
/// Where the file cannot be read, no newer state of the engine is kept.
extension EngineStore: ServiceHistory {
    package func knownChangeTags(of zone: ZoneID) -> [String] {
        attempt { try store.sentTags(of: zone) } ?? []
    }

    package func lastIntactVersion(of zone: ZoneID?) -> Int64? {
        attempt {
            guard let zone else { return try store.lastIntactDatabaseVersion() }
            return try store.lastIntactVersion(of: zone)
        } ?? nil
    }

    package func noteExpiry(of zone: ZoneID?, lastIntactVersion version: Int64?) -> Bool {
        // Another user's engine has nothing to do with this file.
        if isHalted { return true }
        let noted: Void? = attempt {
            if let zone {
                try store.dropToken(of: zone, lastIntactVersion: version)
            } else {
                try store.dropDatabaseToken(lastIntactVersion: version)
            }
        }
        return noted != nil
    }

    /// Nil too while another user than the file's is signed in.
    private func attempt<Value>(_ body: () throws -> Value) -> Value? {
        guard !isHalted else { return nil }
        do {
            return try body()
        } catch {
            failed(error)
            return nil
        }
    }
}
