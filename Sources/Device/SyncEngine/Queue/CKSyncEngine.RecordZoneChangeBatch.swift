import Foundation
import StratusClient
import StratusRecords
import StratusSync

extension CKSyncEngine {
    /// Records to send with one request.
    ///
    /// ```swift
    /// func nextRecordZoneChangeBatch(
    ///     _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
    /// ) async -> CKSyncEngine.RecordZoneChangeBatch? {
    ///     let changes = syncEngine.state.pendingRecordZoneChanges
    ///         .filter { context.options.scope.contains($0) }
    ///     return await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: changes) { recordID in
    ///         await store.record(for: recordID)
    ///     }
    /// }
    /// ```
    public struct RecordZoneChangeBatch: Sendable {
        /// The maximum number of items in a batch, saves and deletions together.
        static let maximumItemCount = 250

        /// How much the engine can send now; less after the service refused a batch as too large.
        package struct BatchLimits: Sendable {
            package var itemLimit = RecordZoneChangeBatch.maximumItemCount
            package var bytesLimit = SyncSettings.engineBytesPerBatch
        }

        @TaskLocal package static var batchLimits = BatchLimits()

        /// The records to save; one that was changed at the service since it was fetched is refused.
        public var recordsToSave: [CKRecord]
        /// The IDs of the records to delete, whether or not others have changed them since.
        public var recordIDsToDelete: [CKRecord.ID]
        /// Whether the records of each zone are saved atomically.
        public var atomicByZone: Bool
        /// The change tags that records must have to be deleted; others are deleted regardless of later changes.
        package var deletionTags: [CKRecord.ID: String] = [:]

        /// Makes a batch of as many changes as fit, in order, except that the records that a record
        /// needs come before it: its parent, and the targets of its `deleteSelf` references. The
        /// other changes stay pending.
        ///
        /// - Parameter recordProvider: returns the record to save; nil skips it. It may also be
        ///   called for records that do not fit.
        /// - Parameter pendingChanges: the changes that may be sent, in order.
        /// - Returns: nil when there is nothing to send.
        public init?(
            pendingChanges: [PendingRecordZoneChange],
            recordProvider: @Sendable (CKRecord.ID) async -> CKRecord?
        ) async {
            var contents = Contents(pendingChanges)
            for change in pendingChanges where !contents.isFull {
                switch change {
                case .deleteRecord(let recordID): contents.deletions.append(recordID)
                case .saveRecord(let recordID):
                    await contents.take(recordID, from: recordProvider)
                }
            }
            guard contents.itemCount > 0 else { return nil }
            self.init(recordsToSave: contents.records, recordIDsToDelete: contents.deletions)
        }

        /// - Precondition: At most 250 items, or sending fails with `CKError.limitExceeded`;
        ///   nothing outside the context's scope, or it fails with `CKError.invalidArguments`.
        public init(
            recordsToSave: [CKRecord] = [], recordIDsToDelete: [CKRecord.ID] = [],
            atomicByZone: Bool = false
        ) {
            self.recordsToSave = recordsToSave
            self.recordIDsToDelete = recordIDsToDelete
            self.atomicByZone = atomicByZone
        }

        var itemCount: Int { recordsToSave.count + recordIDsToDelete.count }

        /// The items in the order of the batch.
        var changes: [PendingChange] {
            recordsToSave.map { PendingChange(id: .init($0.recordID), kind: .save) }
                + recordIDsToDelete.map { PendingChange(id: .init($0), kind: .delete) }
        }
    }
}

extension CKSyncEngine.RecordZoneChangeBatch {
    /// The content of a batch while it is filled.
    private struct Contents {
        private let batchLimits = CKSyncEngine.RecordZoneChangeBatch.batchLimits
        private let pendingSaves: Set<CKRecord.ID>
        private var walk = DependencyWalk<CKRecord.ID, CKRecord>()
        private var bytes = 0
        private(set) var records: [CKRecord] = []
        var deletions: [CKRecord.ID] = []

        init(_ pendingChanges: [CKSyncEngine.PendingRecordZoneChange]) {
            pendingSaves = Set(
                pendingChanges.compactMap { change in
                    if case .saveRecord(let recordID) = change { recordID } else { nil }
                })
        }

        var itemCount: Int { records.count + deletions.count }
        var isFull: Bool { itemCount >= batchLimits.itemLimit || bytes > batchLimits.bytesLimit }

        mutating func take(
            _ recordID: CKRecord.ID, from recordProvider: @Sendable (CKRecord.ID) async -> CKRecord?
        ) async {
            guard !walk.hasSeen(recordID), let record = await recordProvider(recordID) else {
                return
            }
            walk.begin(at: record, id: recordID, needing: record.neededRecordIDs)
            while !isFull, let step = walk.next() {
                switch step {
                case .look(let id):
                    guard pendingSaves.contains(id), let needed = await recordProvider(id) else {
                        continue
                    }
                    walk.begin(at: needed, id: id, needing: needed.neededRecordIDs)
                case .take(let record):
                    bytes += record.estimatedBytes
                    // At least one record, however large.
                    if bytes <= batchLimits.bytesLimit || records.isEmpty { records.append(record) }
                }
            }
        }
    }
}

extension CKRecord {
    /// The approximate size of the fields in a request, in bytes; assets are uploaded separately.
    fileprivate var estimatedBytes: Int {
        reduce(recordID.recordName.utf8.count + 200) { sum, field in
            sum + field.0.utf8.count + Self.estimatedBytes(of: field.1)
        }
    }

    private static func estimatedBytes(of value: Any) -> Int {
        switch value {
        case let text as String: text.utf8.count + 30
        case let data as Data: data.count * 4 / 3 + 30
        case let list as [Any]: list.reduce(30) { $0 + estimatedBytes(of: $1) }
        default: 60
        }
    }
}
