import Synchronization

/// The cost of answering a request beyond what the request itself shows, in requests: the records that a query
/// examined, listed zones beyond the first few, owners whose databases were looked into, the entries that were added to an index for it or
/// changed by a record with many, the records that come under another share together with a named one, an outcome that
/// is kept for a repeated request.
final class RequestWork: Sendable {
    private let total = Mutex(0.0)

    /// About as many records are read in the time of one request.
    private static let recordsPerRequest = 160.0
    /// The cost of a request covers this many zones.
    private static let freeZones = 20
    /// This many saves cost as much as one request (``RecordsModify``).
    private static let recordsWrittenPerRequest = 40.0
    /// About as many index entries are written in that time.
    private static let entriesPerRequest = 400.0
    /// About as many index entries are read in that time, and their distances computed.
    private static let entriesReadPerRequest = 1_600.0
    /// An outcome is kept for a week and counts for no quota.
    private static let outcomeBytesPerRequest = 1_000.0

    var cost: Double { total.withLock { $0 } }

    func add(recordsRead count: Int) { add(Double(count) / Self.recordsPerRequest) }
    func add(zonesRead count: Int) { add(recordsRead: count - Self.freeZones) }
    func add(recordsWritten count: Int) { add(Double(count) / Self.recordsWrittenPerRequest) }
    func add(entriesRead count: Int) { add(Double(count) / Self.entriesReadPerRequest) }
    func add(entriesWritten count: Int) { add(Double(count) / Self.entriesPerRequest) }
    func add(outcomeBytes count: Int) { add(Double(count) / Self.outcomeBytesPerRequest) }

    private func add(_ cost: Double) {
        guard cost > 0 else { return }
        total.withLock { $0 += cost }
    }
}
