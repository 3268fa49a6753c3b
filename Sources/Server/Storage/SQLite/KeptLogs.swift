import StratusRecords

/// The databases that were closed for want of room a moment ago, with empty logs left beside their files.
///
/// The next use finds log and index where they were and makes neither. Nothing is in them: a copy that is put
/// in the file's place meanwhile meets no log of another. They are removed when the database has been idle.
struct KeptLogs {
    /// As many take 64 MB at the most, for the logs' indexes.
    private static let most = 2_000

    private var order = UseOrder<DatabaseAddress>()
    private var usedAtSeconds: [DatabaseAddress: Double] = [:]

    /// The longest unused one.
    var first: DatabaseAddress? { order.first }

    var isFull: Bool { usedAtSeconds.count >= Self.most }

    mutating func keep(_ address: DatabaseAddress, usedAtSeconds seconds: Double) {
        order.append(address)
        usedAtSeconds[address] = seconds
    }

    /// - Returns: Whether the database was among them.
    mutating func remove(_ address: DatabaseAddress) -> Bool {
        order.remove(address)
        return usedAtSeconds.removeValue(forKey: address) != nil
    }

    /// The longest unused one, if its last use was before.
    func first(usedBefore latest: Double) -> DatabaseAddress? {
        guard let first, usedAtSeconds[first, default: latest] <= latest else { return nil }
        return first
    }
}
