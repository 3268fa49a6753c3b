import StratusQuery
import StratusRecords
import StratusStorage
import StratusWire

extension ShareLink.Target {
    /// Stores the share as it was changed by somebody who follows its link, and tells whoever sees it,
    /// as a save does.
    mutating func put(
        in writer: any StoreWriter, _ context: RequestContext, _ summary: SubscriptionSummary
    ) throws {
        let old = try writer.records(named: [row.name], in: zone.key)[row.name]
        sharing.share = share
        let version = try writer.takeVersions(1, in: zone.key).lowerBound
        row.sharing = sharing.bytes
        row.version = version
        row.commitVersion = version
        row.changeTag = ChangeTag(version: version, incarnation: try writer.incarnation).text
        let fields = try RecordFields.encoded(row.payload).values()
        let write = ModifyDecisions.Write(row: row, fields: fields, old: old)
        var indexing = RecordIndexing()
        var event = try ShareEvent(before: writer, zone, context)
        try writer.put(row)
        try indexing.update(row, fields: fields, old: old, in: writer)
        try write.putAncestor(in: writer, limits: context.limits)
        try writer.putSharing(write)
        event.add(write)
        try event.enqueue(after: writer, zone)
        try tellOwner(in: writer, context, summary)
    }

    private func tellOwner(
        in writer: any StoreWriter, _ context: RequestContext, _ summary: SubscriptionSummary
    ) throws {
        guard summary.wantsEvents else { return }
        let change = OutboxEvent.Change(
            recordName: row.name, recordType: row.type, reason: .recordUpdated,
            row: summary.wantsRow(ofType: row.type, .recordUpdated) ? row : nil)
        let event = OutboxEvent(
            zoneName: zone.name, user: try context.user(), device: context.caller.device,
            changes: summary.wantsRecords ? [change] : [])
        try writer.enqueue(event.bytes)
    }
}
