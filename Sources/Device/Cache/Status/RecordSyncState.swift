import Foundation
import GRDB
import StratusClient
import StratusRecords
import StratusSync

/// The sync state of a single record.
public struct RecordSyncState: Hashable, Sendable {
    /// Where a record stands between this device and the service.
    public enum Stage: Hashable, Sendable {
        /// Not on this device, and without a pending change.
        case absent
        /// Equal to the service's record, as far as this device knows.
        case synced
        /// An edit waits to be sent.
        case waitsToSave
        /// A deletion waits to be sent.
        case waitsToDelete
        /// The change was sent, and the answer has not arrived yet.
        case isSending
        /// The service permanently refused the change.
        case needsAttention(SyncFailure)
    }

    /// Where the record stands; a pending change decides, if there is one.
    public var stage: Stage
    /// When the pending change was made; nil if there is none.
    public var editDate: Date?
    /// How many times it failed for an unexplained reason.
    public var attempts = 0
    /// How many times it conflicted with an edit of another device.
    public var conflictRounds = 0
    /// When the service saved the record last, as far as this device knows.
    public var modificationDate: Date?
    /// False while the zone has not been created yet, or after the service refused it.
    public var isZoneReady = true
}

extension CloudCache {
    /// The sync state of a record: sent or not, refused and why. Reads only the file.
    ///
    /// - Throws: SQLite's error, or ``CacheError`` `invalidDatabase`.
    public func syncState(
        of id: CKRecord.ID, in scope: CKDatabase.Scope = .private
    ) throws -> RecordSyncState {
        try database(scope).store.syncState(of: RecordID(id))
    }
}

extension CacheStore {
    func syncState(of id: RecordID) throws -> RecordSyncState {
        try read { database in
            guard let zone = try zone(id.zoneID, database) else {
                return RecordSyncState(stage: .absent)
            }
            let record = try record(id.name, zone, database)
            var state = RecordSyncState(stage: record == nil ? .absent : .synced)
            state.modificationDate = record?.system?.modifiedMilliseconds.map(Self.date)
            state.isZoneReady = zone.state == .existing
            guard let row = try pending(id.name, zone, database) else { return state }
            state.editDate = Self.date(row.editedMilliseconds)
            state.attempts = row.change.attempts
            state.conflictRounds = row.change.conflictRounds
            if let failure = row.failure {
                state.stage = .needsAttention(failure)
            } else if row.delivery == .underWay {
                state.stage = .isSending
            } else {
                state.stage = row.change.kind == .save ? .waitsToSave : .waitsToDelete
            }
            return state
        }
    }

    static func date(_ milliseconds: Int64) -> Date {
        Date(timeIntervalSince1970: Double(milliseconds) / 1_000)
    }
}
