import StratusRecords
import StratusStorage
import StratusWire

/// The outbox: what subscribers and the participants of shares are to be notified of.
struct OutboxMaintainer: RecordMaintainer {
    private let author: RecordAuthor
    private var zoneName = ""
    /// What the participants of shares are notified of; nil where nothing is shared.
    private var share: ShareEvent?
    private var changes: [OutboxEvent.Change] = []
    private var hasEnqueued = false

    /// Changes of one row of the outbox: a cascade may have more than a request may name, and its rows
    /// must not all be in memory at once.
    private static let changesPerEvent = 400

    init(author: RecordAuthor) {
        self.author = author
    }

    mutating func begin(_ zone: ZoneRow, isShared: Bool, in rows: any DerivedRowWriter) throws {
        zoneName = zone.name
        share =
            isShared
            ? try ShareEvent(before: rows, zone, user: author.user, device: author.device) : nil
        changes = []
        hasEnqueued = false
    }

    mutating func stored(_ write: RecordWrite, in rows: any DerivedRowWriter) throws {
        share?.add(write)
        try add(write.row, write.old == nil ? .recordCreated : .recordUpdated, in: rows)
    }

    /// Participants see a change; the owner, who sees the record as before, does not.
    mutating func moved(_ write: RecordWrite, in rows: any DerivedRowWriter) {
        share?.add(write)
    }

    /// Of a deleted record its last state is sent.
    mutating func deleted(_ write: RecordWrite, in rows: any DerivedRowWriter) throws {
        share?.add(write)
        try add(write.old ?? write.row, .recordDeleted, in: rows)
    }

    /// Enqueues what is left; of a zone that changed, that it did.
    mutating func finish(
        _ zone: ZoneRow, through version: Int64, in rows: any DerivedRowWriter
    ) throws {
        try share?.enqueue(after: rows, zone)
        guard author.subscriptions.wantsEvents, !changes.isEmpty || !hasEnqueued else { return }
        try enqueue(in: rows)
    }

    /// The participants are notified while it is still known who they are.
    func removing(_ zone: ZoneRow, in rows: any DerivedRowWriter) throws {
        if let end = try ShareEvent(endOf: zone, user: author.user, device: author.device, rows) {
            try rows.enqueue(end.bytes)
        }
        guard author.subscriptions.wantsEvents else { return }
        try rows.enqueue(
            OutboxEvent(zoneChangedBy: author, named: zone.name, subject: .zoneDeleted).bytes)
    }

    private mutating func add(
        _ row: RecordRow, _ reason: NotificationPayload.Reason, in rows: any DerivedRowWriter
    ) throws {
        guard author.subscriptions.wantsRecords else { return }
        changes.append(
            OutboxEvent.Change(
                recordName: row.name, recordType: row.type, reason: reason,
                row: author.subscriptions.wantsRow(ofType: row.type, reason) ? row : nil))
        if changes.count == Self.changesPerEvent { try enqueue(in: rows) }
    }

    private mutating func enqueue(in rows: any DerivedRowWriter) throws {
        let event = OutboxEvent(
            zoneName: zoneName, user: author.user, device: author.device, changes: changes)
        try rows.enqueue(event.bytes)
        changes = []
        hasEnqueued = true
    }
}

extension OutboxEvent {
    /// A zone that came or went.
    init(zoneChangedBy author: RecordAuthor, named name: String, subject: Subject) {
        self.init(
            zoneName: name, user: author.user, device: author.device, changes: [],
            subject: subject)
    }
}
