import StratusRecords
import StratusRuntime

/// The databases that were recently closed to make room for others, with empty logs left beside their files.
///
/// The next use finds the log and its index and need not create them. They are empty, so they do no harm to a copy that
/// replaces the file in the meantime. They are removed when the database has been idle.
struct KeptLogs {
    /// The maximum number of databases: their log indexes take up to 64 MB.
    private static let most = 2_000

    private var usedAtSeconds = LRUCache<DatabaseAddress, Double>(capacity: .max)

    /// The least recently used one.
    var first: DatabaseAddress? { usedAtSeconds.oldestEntry?.key }

    var isFull: Bool { usedAtSeconds.count >= Self.most }

    mutating func keep(_ address: DatabaseAddress, usedAtSeconds seconds: Double) {
        usedAtSeconds[address] = seconds
    }

    /// - Returns: Whether the database was one of them.
    mutating func remove(_ address: DatabaseAddress) -> Bool {
        let formerCount = usedAtSeconds.count
        usedAtSeconds[address] = nil
        return usedAtSeconds.count < formerCount
    }

    /// The least recently used one, if its last use was before a time.
    func first(usedBefore latest: Double) -> DatabaseAddress? {
        guard let oldest = usedAtSeconds.oldestEntry, oldest.value <= latest else { return nil }
        return oldest.key
    }
}
