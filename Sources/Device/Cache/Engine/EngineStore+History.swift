import StratusRecords
import StratusSyncEngine

/// Finds what a restore of the service lost, as the cache's own syncing does.
///
/// If the file cannot be read, no newer state of the engine is kept.
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
        // The engine of another user does not use this file, and one that waits for another engine forgets what it does.
        if isHalted || isLockedOut { return true }
        let noted: Void? = attempt {
            if let zone {
                try store.dropToken(of: zone, lastIntactVersion: version)
            } else {
                try store.dropDatabaseToken(lastIntactVersion: version)
            }
        }
        return noted != nil
    }

    package func zonesKnown() -> [ZoneID] { attempt { try store.zonesKnown() } ?? [] }

    package func keepsChanges(of zone: ZoneID) -> Bool {
        if isLockedOut { return false }
        return attempt { try !store.isDetached(zone) } ?? true
    }

    package func generationsToDelete(_ zones: [ZoneID]) -> [ZoneID: Int64]? {
        attempt { try store.unwantedGenerations(of: zones) }
    }

    private var isLockedOut: Bool { state.withLock { $0.isLockedOut } }

    /// Runs a body; nil if it fails, while another user than the file's is signed in, or while another engine syncs the
    /// file.
    private func attempt<Value>(_ body: () throws -> Value) -> Value? {
        guard !isHalted, !isLockedOut else { return nil }
        do {
            return try body()
        } catch {
            failed(error)
            return nil
        }
    }
}
