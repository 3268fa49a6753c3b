import Synchronization

/// How much of each record's assets was transferred within a request; reports whole percents.
final class AssetProgress: Sendable {
    private struct Part {
        var totalBytes: Int64 = 0
        var movedBytes: [Int64] = []
        var receivedPercent: Int64 = -1
    }

    private let parts: Mutex<[Part]>
    private let report: @Sendable (_ record: Int, _ fraction: Double) -> Void

    init(recordCount: Int, report: @escaping @Sendable (Int, Double) -> Void) {
        parts = Mutex([Part](repeating: Part(), count: recordCount))
        self.report = report
    }

    /// Adds an asset of a record.
    ///
    /// - Parameter sizeBytes: as the service states it; not trusted.
    /// - Returns: the asset's index, for ``moved(_:of:in:)``.
    func add(_ sizeBytes: Int64, to record: Int) -> Int {
        parts.withLock { parts in
            let (sum, isTooLarge) = parts[record].totalBytes
                .addingReportingOverflow(max(0, sizeBytes))
            parts[record].totalBytes = isTooLarge ? .max : sum
            parts[record].movedBytes.append(0)
            return parts[record].movedBytes.count - 1
        }
    }

    /// Notes how many bytes of an asset were transferred; may be less than before when a request is
    /// repeated.
    func moved(_ bytes: Int64, of asset: Int, in record: Int) {
        let fraction: Double? = parts.withLock { parts in
            parts[record].movedBytes[asset] = bytes
            let total = parts[record].totalBytes
            guard total > 0 else { return nil }
            let moved = parts[record].movedBytes.reduce(0, +)
            let percent = moved * 100 / total
            // 100 % is reported with the record itself.
            guard percent != parts[record].receivedPercent, moved < total else { return nil }
            parts[record].receivedPercent = percent
            return Double(moved) / Double(total)
        }
        if let fraction { report(record, fraction) }
    }
}
