import StratusRecords
import StratusStorage

/// Shares, other users' zones, and what a database stores for its users' devices.
extension ModelTransaction {
    // MARK: Shares

    func hasShares(in zone: ZoneRow.Key) -> Bool { !shares(in: zone, limit: 1).isEmpty }

    func shares(in zone: ZoneRow.Key, limit: Int) -> [ShareRow] {
        Array(
            model.shareRows.filter { $0.zone == zone }.sorted(by: \.name).prefix(max(limit, 1)))
    }

    func share(shortGUID: String) -> ShareRow? {
        model.shareRows.first { $0.shortGUID == shortGUID }
    }

    func access(of user: String, in zone: ZoneRow.Key) -> [ShareAccessRow] {
        audience(of: zone).filter { $0.user == user }
    }

    func audience(of zone: ZoneRow.Key) -> [ShareAccessRow] {
        model.accessRows.filter { $0.zone == zone }.map(\.row)
            .sorted { ($0.user, $0.share) < ($1.user, $1.share) }
    }

    func put(_ row: ShareRow, access: [ShareAccessRow]) {
        model.shareRows.removeAll { $0.zone == row.zone && $0.name == row.name }
        model.shareRows.append(row)
        deleteAccess(by: row.name, in: row.zone)
        for access in access { model.accessRows.insert(.init(zone: row.zone, row: access)) }
    }

    func deleteShare(_ name: String, in zone: ZoneRow.Key) {
        let root = model.shareRows.first { $0.zone == zone && $0.name == name }?.root
        model.shareRows.removeAll { $0.zone == zone && $0.name == name }
        deleteAccess(by: name, in: zone)
        if let root, model.defect != .deletedShareKeepsEvents {
            model.shareEvents.removeAll { $0.zone == zone && $0.root == root }
        }
    }

    private func deleteAccess(by share: String, in zone: ZoneRow.Key) {
        model.accessRows = model.accessRows.filter { $0.zone != zone || $0.row.share != share }
    }

    // MARK: The view of shares

    func put(_ row: ShareEventRow) {
        deleteShareEvent(of: row.name, root: row.root, in: row.zone)
        model.shareEvents.append(row)
    }

    func deleteShareEvent(of name: String, root: String, in zone: ZoneRow.Key) {
        model.shareEvents.removeAll { $0.zone == zone && $0.name == name && $0.root == root }
    }

    func sharedChanges(
        in key: ZoneRow.Key, roots: [String], after cursor: ChangeCursor, limit: Int,
        payloadBytes: Int
    ) throws -> ChangePage {
        let zone = try zone(key)
        let there = model.records.filter { row in
            row.zone == key && row.version > cursor.version
                && row.shareRoot.map(roots.contains) == true
        }
        let gone = model.shareEvents.filter { event in
            event.zone == key && roots.contains(event.root)
                && event.version > max(cursor.version, cursor.skipTombstonesThrough)
                && model.defect != .sharedViewSkipsEvents
                && !there.contains { $0.version == event.version }
        }
        return page(of: there + gone.map(Self.tombstone), zone, cursor, limit, payloadBytes)
    }

    private static func tombstone(_ event: ShareEventRow) -> RecordRow {
        RecordRow(
            zone: event.zone, name: event.name, type: event.type, version: event.version,
            commitVersion: event.commitVersion, changeTag: "", isDeleted: true,
            creatorDevice: "", createdMilliseconds: 0, modifiedMilliseconds: 0, creator: "",
            modifier: "", modifierDevice: "", parent: nil, shareRoot: nil, payload: [])
    }

    func sharedVersion(of zone: ZoneRow.Key, roots: [String]) -> Int64 {
        let there = model.records
            .filter { $0.zone == zone && $0.shareRoot.map(roots.contains) == true }
            .map(\.version)
        let gone = model.shareEvents
            .filter { $0.zone == zone && roots.contains($0.root) }
            .map(\.version)
        return (there + gone).max() ?? 0
    }

    // MARK: Other users' zones

    func sharedZones() -> [SharedZoneRow] {
        model.sharedZoneRows.filter { !$0.isDeleted }
            .sorted { ($0.owner, $0.name) < ($1.owner, $1.name) }
    }

    func sharedZones(changedAfter databaseVersion: Int64, limit: Int) -> [SharedZoneRow] {
        Array(
            model.sharedZoneRows.filter { $0.changedAtDatabaseVersion > databaseVersion }
                .sorted { $0.changedAtDatabaseVersion < $1.changedAtDatabaseVersion }
                .prefix(max(limit, 1)))
    }

    func sharedZone(owner: String, name: String) -> SharedZoneRow? {
        model.sharedZoneRows.first { $0.owner == owner && $0.name == name }
    }

    func put(_ row: SharedZoneRow) -> SharedZoneRow {
        var row = row
        row.changedAtDatabaseVersion = takeDatabaseVersion()
        model.sharedZoneRows.removeAll { $0.owner == row.owner && $0.name == row.name }
        model.sharedZoneRows.append(row)
        return row
    }

    // MARK: Subscriptions, outcomes, outbox

    func subscriptions(of user: String?) -> [SubscriptionRow] {
        model.subscriptionRows.filter { user == nil || $0.user == user }
            .sorted { ($0.user, $0.identifier) < ($1.user, $1.identifier) }
    }

    func put(_ row: SubscriptionRow) {
        deleteSubscription(row.identifier, of: row.user)
        model.subscriptionRows.append(row)
    }

    func deleteSubscription(_ identifier: String, of user: String) {
        model.subscriptionRows.removeAll { $0.user == user && $0.identifier == identifier }
    }

    func outcome(of operation: OperationKey) -> [UInt8]? {
        model.outcomes.first { $0.key == operation }?.bytes
    }

    func put(outcome: [UInt8], of operation: OperationKey, expiresMilliseconds: Int64) {
        model.outcomes.removeAll { $0.key == operation }
        model.outcomes.append(
            .init(key: operation, bytes: outcome, expires: expiresMilliseconds))
    }

    func deleteOutcomes(expiredAt milliseconds: Int64) {
        model.outcomes.removeAll { $0.expires <= milliseconds }
    }

    func outbox(after identifier: Int64, limit: Int) -> [OutboxRow] {
        Array(model.outboxRows.filter { $0.identifier > identifier }.prefix(max(limit, 1)))
    }

    func enqueue(_ body: [UInt8]) {
        if model.defect == .outboxNumbersAreReused {
            model.lastOutbox = model.outboxRows.last?.identifier ?? 0
        }
        model.lastOutbox += 1
        beginFirstEpoch()
        model.outboxRows.append(
            OutboxRow(identifier: model.lastOutbox, body: body, epoch: epoch))
    }

    func dequeue(through identifier: Int64) {
        model.outboxRows.removeAll { $0.identifier <= identifier }
    }
}
