import Foundation
import StratusClient
import StratusSync

extension CKSyncEngine {
    /// Records to send with one request.
    ///
    /// ```swift
    /// let changes = engine.state.pendingRecordZoneChanges.filter { context.options.scope.contains($0) }
    /// return await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: changes) { recordID in
    ///     await store.record(for: recordID)
    /// }
    /// ```
    public struct RecordZoneChangeBatch: Sendable {
        /// Items that one batch has at the most, saves and deletions together.
        static let maximumItemCount = 250

        /// How much the engine takes now; less after the service found a batch too large.
        struct Room: Sendable {
            var itemLimit = RecordZoneChangeBatch.maximumItemCount
            var bytesLimit = SyncSettings.engineBytesPerBatch
        }

        @TaskLocal static var room = Room()

        public var recordsToSave: [CKRecord]
        public var recordIDsToDelete: [CKRecord.ID]
        /// Whether the records of a zone are saved all together or not at all; each zone for itself.
        public var atomicByZone: Bool

        /// Takes as many of the changes as fit, in their order; the others stay pending.
        ///
        /// - Parameter recordProvider: gives the record for a save; nil skips it. Also asked for the
        ///   record after the last that fits.
        /// - Parameter pendingChanges: what may be sent, in order.
        /// - Returns: nil when nothing is to be sent.
        public init?(
            pendingChanges: [PendingRecordZoneChange],
            recordProvider: @Sendable (CKRecord.ID) async -> CKRecord?
        ) async {
            let room = Self.room
            var bytes = 0
            var records: [CKRecord] = []
            var deletions: [CKRecord.ID] = []
            for change in pendingChanges {
                if records.count + deletions.count >= room.itemLimit { break }
                switch change {
                case .deleteRecord(let recordID): deletions.append(recordID)
                case .saveRecord(let recordID):
                    guard let record = await recordProvider(recordID) else { continue }
                    bytes += record.estimatedBytes
                    if bytes > room.bytesLimit, !records.isEmpty { break }
                    records.append(record)
                }
                if bytes > room.bytesLimit { break }
            }
            guard !records.isEmpty || !deletions.isEmpty else { return nil }
            self.init(recordsToSave: records, recordIDsToDelete: deletions)
        }

        /// - Precondition: Not more than 250 items, or the send fails with
        ///   `CKError.limitExceeded`; nothing outside the context's scope, or it fails with
        ///   `CKError.invalidArguments`.
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

extension CKRecord {
    /// About how long the fields are in a request, in bytes; assets travel by themselves.
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
