import StratusRecords

/// The databases that were recently closed to make room for others, with empty logs left beside their files.
///
/// The next use finds the log and its index and need not create them. They are empty, so they do no harm to a copy that
/// replaces the file in the meantime. They are removed when the database has been idle.
struct KeptLogs {
    /// This many take at most 64 MB, for the logs' indexes.
    private static let most = 2_000

    private var order = UseOrder<DatabaseAddress>()
    private var usedAtSeconds: [DatabaseAddress: Double] = [:]

    /// The least recently used one.
    var first: DatabaseAddress? { order.first }

    var isFull: Bool { usedAtSeconds.count >= Self.most }

    mutating func keep(_ address: DatabaseAddress, usedAtSeconds seconds: Double) {
        order.append(address)
        usedAtSeconds[address] = seconds
    }

    /// - Returns: Whether the database was one of them.
    mutating func remove(_ address: DatabaseAddress) -> Bool {
        order.remove(address)
        return usedAtSeconds.removeValue(forKey: address) != nil
    }

    /// The least recently used one, if its last use was before a time.
    func first(usedBefore latest: Double) -> DatabaseAddress? {
        guard let first, usedAtSeconds[first, default: latest] <= latest else { return nil }
        return first
    }
}
