import StratusRecords
import StratusStorage
import StratusWire

/// Fills the outbox: the events of which subscribers and participants of shares are notified.
struct OutboxMaintainer: RecordMaintainer {
    private let author: RecordAuthor
    private var zoneName = ""
    /// The event for the participants of shares; nil if nothing is shared.
    private var share: ShareEvent?
    /// The access by shares before anything of the change is written.
    private var audience: Set<ShareAccessRow> = []
    private var changes: [OutboxEvent.Change] = []
    private var hasEnqueued = false

    /// Changes per row of the outbox: a cascade may have more changes than a request may name operations, and they must
    /// not all be in memory at once.
    private static let changesPerEvent = 400

    init(author: RecordAuthor) {
        self.author = author
    }

    mutating func begin(_ zone: ZoneRow, isShared: Bool, in rows: any DerivedRowWriter) throws {
        zoneName = zone.name
        share = isShared ? shareEvent(zone) : nil
        audience = isShared ? Set(try rows.audience(of: zone.key)) : []
        changes = []
        hasEnqueued = false
    }

    mutating func stored(_ write: RecordWrite, in rows: any DerivedRowWriter) throws {
        share?.add(write.row, old: write.old)
        try add(write.row, write.old == nil ? .recordCreated : .recordUpdated, in: rows)
    }

    /// Participants see a change; the owner, who sees the record as before, does not.
    mutating func moved(_ write: RecordWrite, in rows: any DerivedRowWriter) {
        share?.add(write.row, old: write.old)
    }

    /// The event of a deletion has the last state of the record.
    mutating func deleted(_ write: RecordWrite, in rows: any DerivedRowWriter) throws {
        share?.add(write.row, old: write.old)
        try add(write.old ?? write.row, .recordDeleted, in: rows)
    }

    /// No record changes, so no one is notified. The events that wait stay.
    func rebuilt(_ write: RecordWrite, in rows: any DerivedRowWriter) {}

    /// Enqueues the remaining changes; for a zone subscription, the event that the zone changed.
    mutating func finish(
        _ zone: ZoneRow, through version: Int64, in rows: any DerivedRowWriter
    ) throws {
        try enqueueShare(of: zone, in: rows)
        guard author.subscriptions.wantsEvents, !changes.isEmpty || !hasEnqueued else { return }
        try enqueue(in: rows)
    }

    /// Enqueues the event for the participants, who are only known before the zone is removed.
    func removing(_ zone: ZoneRow, in rows: any DerivedRowWriter) throws {
        var end = shareEvent(zone)
        end.affected = Set(try rows.audience(of: zone.key).map(\.user))
        if !end.affected.isEmpty { try rows.enqueue(end.bytes) }
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

    private func shareEvent(_ zone: ZoneRow) -> ShareEvent {
        ShareEvent(zoneName: zone.name, user: author.user, device: author.device)
    }

    /// Enqueues the event for the participants, unless no one had or got access.
    private func enqueueShare(of zone: ZoneRow, in rows: any DerivedRowWriter) throws {
        guard var share else { return }
        let after = Set(try rows.audience(of: zone.key))
        share.affected = Set(audience.symmetricDifference(after).map(\.user))
        guard !audience.isEmpty || !after.isEmpty else { return }
        try rows.enqueue(share.bytes)
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
    /// The event for a zone that was created or deleted.
    init(zoneChangedBy author: RecordAuthor, named name: String, subject: Subject) {
        self.init(
            zoneName: name, user: author.user, device: author.device, changes: [],
            subject: subject)
    }
}
