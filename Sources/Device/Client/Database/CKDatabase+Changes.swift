import Foundation

extension CKDatabase {
    /// A change of a zone.
    public enum DatabaseChange {
        public struct Modification: Sendable, Hashable {
            public let zoneID: CKRecordZone.ID

            package init(zoneID: CKRecordZone.ID) {
                self.zoneID = zoneID
            }
        }

        public struct Deletion: Sendable, Hashable {
            public enum Reason: Sendable, Hashable {
                case deleted
                /// The user removed the app's data.
                case purged
                /// The user lost the keys of encrypted data.
                case encryptedDataReset
            }

            public let zoneID: CKRecordZone.ID
            public let reason: Reason

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
        public struct Modification: Hashable, Sendable {
            public let record: CKRecord

            package init(record: CKRecord) {
                self.record = record
            }
        }

        public struct Deletion: Sendable, Hashable {
            public let recordID: CKRecord.ID
            public let recordType: CKRecord.RecordType

            package init(recordID: CKRecord.ID, recordType: CKRecord.RecordType) {
                self.recordID = recordID
                self.recordType = recordType
            }
        }
    }

    public typealias DatabaseChanges = (
        modifications: [DatabaseChange.Modification], deletions: [DatabaseChange.Deletion],
        changeToken: CKServerChangeToken, moreComing: Bool
    )

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

    /// Fetches one page of zone changes, with all that the service says about them.
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
            case .deleted(let recordID, let recordType):
                deletions.append(
                    RecordZoneChange.Deletion(recordID: recordID, recordType: recordType))
            }
        }
        return (results, deletions, page.token, page.moreComing)
    }

    package typealias OrderedZoneChanges = (
        modifications: [RecordZoneChange.Modification], deletions: [RecordZoneChange.Deletion],
        changeToken: CKServerChangeToken, moreComing: Bool
    )

    /// Fetches one page of the changes in a zone, in order. If an asset is not available, the
    /// record comes without its file, because a retry would not find it either.
    ///
    /// - Throws: also the error of a single record, because a token after it must not be kept.
    package func orderedChanges(
        inZoneWith zoneID: CKRecordZone.ID, since token: CKServerChangeToken?
    ) async throws -> OrderedZoneChanges {
        let question = ZoneChangesQuestion(zoneID: zoneID, token: token)
        var session = session
        session.keepsRecordsWithoutAssets = true
        let page = try await session.zoneChanges(question)
        var modifications: [RecordZoneChange.Modification] = []
        modifications.reserveCapacity(page.changes.count)
        var deletions: [RecordZoneChange.Deletion] = []
        for change in page.changes {
            switch change {
            case .changed(let record): modifications.append(.init(record: record))
            case .failed(_, let error): throw error
            case .deleted(let recordID, let recordType):
                deletions.append(.init(recordID: recordID, recordType: recordType))
            }
        }
        return (modifications, deletions, page.token, page.moreComing)
    }
}
