import StratusRecords
import StratusStorage
import StratusWire

/// Gathers what subscribers are notified of: the records that a request wrote in one zone.
struct OutboxReport {
    let zoneName: String
    let user: String
    let device: String
    let summary: SubscriptionSummary
    /// What the participants of shares are notified of; nil where nothing is shared.
    var share: ShareEvent?
    private var changes: [OutboxEvent.Change] = []
    private var hasEnqueued = false

    /// Changes of one row of the outbox: a cascade may have more than a request may name, and its rows
    /// must not all be in memory at once.
    private static let changesPerEvent = 400

    init(zoneName: String, user: String, device: String, summary: SubscriptionSummary) {
        self.zoneName = zoneName
        self.user = user
        self.device = device
        self.summary = summary
    }

    mutating func add(_ write: ModifyDecisions.Write, in writer: any StoreWriter) throws {
        share?.add(write)
        guard summary.wantsRecords else { return }
        let reason: NotificationPayload.Reason =
            write.row.isDeleted
            ? .recordDeleted : write.old == nil ? .recordCreated : .recordUpdated
        // Of a deleted record its last state is sent.
        let row = write.row.isDeleted ? write.old ?? write.row : write.row
        changes.append(
            OutboxEvent.Change(
                recordName: row.name, recordType: row.type, reason: reason,
                row: summary.wantsRow(ofType: row.type, reason) ? row : nil))
        if changes.count == Self.changesPerEvent { try send(in: writer) }
    }

    /// Puts what is left into the outbox; of a zone that changed, that it did.
    mutating func enqueue(in writer: any StoreWriter) throws {
        guard summary.wantsEvents, !changes.isEmpty || !hasEnqueued else { return }
        try send(in: writer)
    }

    private mutating func send(in writer: any StoreWriter) throws {
        let event = OutboxEvent(zoneName: zoneName, user: user, device: device, changes: changes)
        try writer.enqueue(event.bytes)
        changes = []
        hasEnqueued = true
    }
}
