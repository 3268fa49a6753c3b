import Foundation

extension CKDatabase {
    /// A change of a zone.
    public enum DatabaseChange {
        /// A zone that was created, or in which something changed.
        public struct Modification: Sendable, Hashable {
            /// The zone whose changes are to be fetched.
            public let zoneID: CKRecordZone.ID

            package init(zoneID: CKRecordZone.ID) {
                self.zoneID = zoneID
            }
        }

        /// A zone that is no longer in the database.
        public struct Deletion: Sendable, Hashable {
            /// Why a zone was deleted.
            public enum Reason: Sendable, Hashable {
                /// A client deleted it, or the user no longer has access to it; also used when the service names no
                /// reason.
                case deleted
                /// The user removed the app's data.
                case purged
                /// The user lost the keys of encrypted data.
                case encryptedDataReset
            }

            /// The zone that was deleted.
            public let zoneID: CKRecordZone.ID
            /// Why it was deleted, which decides what an app does with its copy.
            public let reason: Reason
            /// Whether the service named no deletion: the zone is missing in the list of all zones, and may have been
            /// lost.
            package var isInferred = false

            /// Whether the user removed the app's data.
            @available(*, deprecated, message: "Use reason.")
            public var purged: Bool { reason == .purged }

            package init(zoneID: CKRecordZone.ID, reason: Reason) {
                self.zoneID = zoneID
                self.reason = reason
            }
        }
    }

    /// A change of a record.
    public enum RecordZoneChange {
        /// A record that was created or changed.
        public struct Modification: Hashable, Sendable {
            /// The record in its newest state, with the fields that were requested.
            public let record: CKRecord

            package init(record: CKRecord) {
                self.record = record
            }
        }

        /// A record that was deleted from the zone.
        public struct Deletion: Sendable, Hashable {
            /// The ID that the record had.
            public let recordID: CKRecord.ID
            /// The type that the record had; empty if the service does not send it.
            public let recordType: CKRecord.RecordType
            /// When the record was created, in milliseconds since 1970; nil if the service does not say.
            package var createdMilliseconds: Int64?

            package init(
                recordID: CKRecord.ID, recordType: CKRecord.RecordType,
                createdMilliseconds: Int64? = nil
            ) {
                self.recordID = recordID
                self.recordType = recordType
                self.createdMilliseconds = createdMilliseconds
            }
        }
    }

    /// One page of the zones that changed, with the change token for fetching the next one.
    ///
    /// With `moreComing`, fetch again at once: the service has more changes.
    public typealias DatabaseChanges = (
        modifications: [DatabaseChange.Modification], deletions: [DatabaseChange.Deletion],
        changeToken: CKServerChangeToken, moreComing: Bool
    )

    /// One page of the changes in a zone, with the change token for fetching the next one.
    ///
    /// The result of a record has an error if it could not be read or its asset is not available. With
    /// `moreComing`, fetch again at once: the service has more changes.
    public typealias RecordZoneChanges = (
        modificationResultsByID: [CKRecord.ID: Result<RecordZoneChange.Modification, any Error>],
        deletions: [RecordZoneChange.Deletion], changeToken: CKServerChangeToken, moreComing: Bool
    )

    /// Fetches one page of the zones that changed since a token; nil starts from the beginning.
    public func databaseChanges(
        since token: CKServerChangeToken?, resultsLimit: Int? = nil
    ) async throws -> DatabaseChanges {
        let page = try await session.databaseChanges(since: token, resultsLimit: resultsLimit ?? 0)
        return (
            page.changed.map { DatabaseChange.Modification(zoneID: $0) },
            page.deleted.map { DatabaseChange.Deletion(zoneID: $0.zoneID, reason: $0.reason) },
            page.token, page.moreComing
        )
    }

    /// Fetches one page of zone changes, with everything that the service reports about them.
    ///
    /// - Parameter deletionsAfterVersion: without a token, the page also names the zones that were
    ///   deleted after this version of the database.
    /// - Parameter knownTokens: the token counts as expired if the service has lost the state of
    ///   one of these tokens.
    package func databaseChangesPage(
        since token: CKServerChangeToken?, deletionsAfterVersion: Int64?,
        knownTokens: [CKServerChangeToken] = []
    ) async throws -> DatabaseChangesPage {
        try await session.databaseChanges(
            since: token, resultsLimit: 0, deletionsAfterVersion: deletionsAfterVersion,
            knownTokens: knownTokens)
    }

    /// Fetches one page of the changes in a zone since a token; nil starts from the beginning.
    public func recordZoneChanges(
        inZoneWith zoneID: CKRecordZone.ID, since token: CKServerChangeToken?,
        desiredKeys: [CKRecord.FieldKey]? = nil, resultsLimit: Int? = nil
    ) async throws -> RecordZoneChanges {
        let question = ZoneChangesQuestion(
            zoneID: zoneID, token: token, resultsLimit: resultsLimit ?? 0, desiredKeys: desiredKeys)
        let page = try await session.zoneChanges(question)
        var results: [CKRecord.ID: Result<RecordZoneChange.Modification, any Error>] = [:]
        var deletions: [RecordZoneChange.Deletion] = []
        for change in page.changes {
            switch change {
            case .changed(let record):
                results[record.recordID] = .success(RecordZoneChange.Modification(record: record))
            case .failed(let recordID, let error): results[recordID] = .failure(error)
            case .deleted(let deletion): deletions.append(deletion)
            }
        }
        return (results, deletions, page.token, page.moreComing)
    }

    package typealias OrderedZoneChanges = (
        modifications: [RecordZoneChange.Modification], deletions: [RecordZoneChange.Deletion],
        unreadable: [CKRecord.ID: CKError], changeToken: CKServerChangeToken, moreComing: Bool
    )

    /// Fetches one page of the changes in a zone, in order. If an asset is not available, the record is returned
    /// without its file, because a retry would not find it either.
    ///
    /// - Parameters:
    ///   - knownChangeTags: the token counts as expired if the service has lost a change with one
    ///     of these tags.
    ///   - deletionsAfterVersion: a fetch from the beginning reports only deletions after this version of the zone.
    /// - Throws: also the error of a single record, because a token after it must not be kept; but the errors of records
    ///   that cannot be read are returned, and the caller keeps their names with the token.
    package func orderedChanges(
        inZoneWith zoneID: CKRecordZone.ID, since token: CKServerChangeToken?,
        knownChangeTags: [String] = [], deletionsAfterVersion: Int64? = nil
    ) async throws -> OrderedZoneChanges {
        let question = ZoneChangesQuestion(
            zoneID: zoneID, token: token, knownChangeTags: knownChangeTags,
            deletionsAfterVersion: deletionsAfterVersion)
        var session = session
        session.keepsRecordsWithoutAssets = true
        let page = try await session.zoneChanges(question)
        var modifications: [RecordZoneChange.Modification] = []
        modifications.reserveCapacity(page.changes.count)
        var deletions: [RecordZoneChange.Deletion] = []
        var unreadable: [CKRecord.ID: CKError] = [:]
        for change in page.changes {
            switch change {
            case .changed(let record): modifications.append(.init(record: record))
            case .failed(let recordID, let error):
                guard error.isOfUnreadableRecord else { throw error }
                unreadable[recordID] = error
            case .deleted(let deletion): deletions.append(deletion)
            }
        }
        return (modifications, deletions, unreadable, page.token, page.moreComing)
    }
}
