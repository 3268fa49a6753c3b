import Foundation

// The convenience calls whose completion handlers take a result, mostly one with the results of many
// items.

extension CKContainer {
    // MARK: People

    @preconcurrency
    public func discoverUserIdentities(
        forEmailAddresses emails: [String],
        completionHandler: @escaping @Sendable (Result<[String: CKUserIdentity], any Error>) -> Void
    ) {
        core.call(to: completionHandler) {
            try await self.userIdentities(forEmailAddresses: emails)
        }
    }

    @preconcurrency
    public func discoverUserIdentities(
        forPhoneNumbers phoneNumbers: [String],
        completionHandler: @escaping @Sendable (Result<[String: CKUserIdentity], any Error>) -> Void
    ) {
        core.call(to: completionHandler) {
            try await self.userIdentities(forPhoneNumbers: phoneNumbers)
        }
    }

    @preconcurrency
    public func discoverUserIdentities(
        forUserRecordIDs userRecordIDs: [CKRecord.ID],
        completionHandler:
            @escaping @Sendable (Result<[CKRecord.ID: CKUserIdentity], any Error>) -> Void
    ) {
        core.call(to: completionHandler) {
            try await self.userIdentities(forUserRecordIDs: userRecordIDs)
        }
    }

    // MARK: Sharing

    @preconcurrency
    public func fetchShareMetadatas(
        for urls: [URL],
        completionHandler:
            @escaping @Sendable (
                Result<[URL: Result<CKShare.Metadata, any Error>], any Error>
            ) -> Void
    ) {
        core.call(to: completionHandler) { try await self.shareMetadatas(for: urls) }
    }

    @preconcurrency
    public func accept(
        _ metadatas: [CKShare.Metadata],
        completionHandler:
            @escaping @Sendable (
                Result<[CKShare.Metadata: Result<CKShare, any Error>], any Error>
            ) -> Void
    ) {
        core.call(to: completionHandler) { try await self.accept(metadatas) }
    }

    // MARK: Participants

    @preconcurrency
    public func fetchShareParticipants(
        forEmailAddresses emailAddresses: [String],
        completionHandler:
            @escaping @Sendable (Result<ParticipantResults<String>, any Error>) -> Void
    ) {
        core.call(to: completionHandler) {
            try await self.shareParticipants(forEmailAddresses: emailAddresses)
        }
    }

    @preconcurrency
    public func fetchShareParticipants(
        forPhoneNumbers phoneNumbers: [String],
        completionHandler:
            @escaping @Sendable (Result<ParticipantResults<String>, any Error>) -> Void
    ) {
        core.call(to: completionHandler) {
            try await self.shareParticipants(forPhoneNumbers: phoneNumbers)
        }
    }

    @preconcurrency
    public func fetchShareParticipants(
        forUserRecordIDs userRecordIDs: [CKRecord.ID],
        completionHandler:
            @escaping @Sendable (Result<ParticipantResults<CKRecord.ID>, any Error>) -> Void
    ) {
        core.call(to: completionHandler) {
            try await self.shareParticipants(forUserRecordIDs: userRecordIDs)
        }
    }
}

extension CKDatabase {
    // MARK: Records

    @preconcurrency
    public func fetch(
        withRecordIDs recordIDs: [CKRecord.ID], desiredKeys: [CKRecord.FieldKey]? = nil,
        completionHandler:
            @escaping @Sendable (
                Result<[CKRecord.ID: Result<CKRecord, any Error>], any Error>
            ) -> Void
    ) {
        core.call(to: completionHandler) {
            try await self.records(for: recordIDs, desiredKeys: desiredKeys)
        }
    }

    @preconcurrency
    public func modifyRecords(
        saving recordsToSave: [CKRecord], deleting recordIDsToDelete: [CKRecord.ID],
        savePolicy: CKModifyRecordsOperation.RecordSavePolicy = .ifServerRecordUnchanged,
        atomically: Bool = true,
        completionHandler: @escaping @Sendable (Result<RecordModifications, any Error>) -> Void
    ) {
        core.call(to: completionHandler) {
            try await self.modifyRecords(
                saving: recordsToSave, deleting: recordIDsToDelete, savePolicy: savePolicy,
                atomically: atomically)
        }
    }

    @preconcurrency
    public func fetch(
        withQuery query: CKQuery, inZoneWith zoneID: CKRecordZone.ID? = nil,
        desiredKeys: [CKRecord.FieldKey]? = nil,
        resultsLimit: Int = CKQueryOperation.maximumResults,
        completionHandler: @escaping @Sendable (Result<QueryMatches, any Error>) -> Void
    ) {
        core.call(to: completionHandler) {
            try await self.records(
                matching: query, inZoneWith: zoneID, desiredKeys: desiredKeys,
                resultsLimit: resultsLimit)
        }
    }

    @preconcurrency
    public func fetch(
        withCursor cursor: CKQueryOperation.Cursor, desiredKeys: [CKRecord.FieldKey]? = nil,
        resultsLimit: Int = CKQueryOperation.maximumResults,
        completionHandler: @escaping @Sendable (Result<QueryMatches, any Error>) -> Void
    ) {
        core.call(to: completionHandler) {
            try await self.records(
                continuingMatchFrom: cursor, desiredKeys: desiredKeys,
                resultsLimit: resultsLimit)
        }
    }

    // MARK: Zones

    @preconcurrency
    public func fetch(
        withRecordZoneIDs zoneIDs: [CKRecordZone.ID],
        completionHandler:
            @escaping @Sendable (
                Result<[CKRecordZone.ID: Result<CKRecordZone, any Error>], any Error>
            ) -> Void
    ) {
        core.call(to: completionHandler) { try await self.recordZones(for: zoneIDs) }
    }

    @preconcurrency
    public func modifyRecordZones(
        saving zones: [CKRecordZone], deleting zoneIDs: [CKRecordZone.ID],
        completionHandler: @escaping @Sendable (Result<RecordZoneModifications, any Error>) -> Void
    ) {
        core.call(to: completionHandler) {
            try await self.modifyRecordZones(saving: zones, deleting: zoneIDs)
        }
    }

    // MARK: Subscriptions

    @preconcurrency
    public func fetch(
        withSubscriptionIDs subscriptionIDs: [CKSubscription.ID],
        completionHandler:
            @escaping @Sendable (
                Result<[CKSubscription.ID: Result<CKSubscription, any Error>], any Error>
            ) -> Void
    ) {
        core.call(to: completionHandler) { try await self.subscriptions(for: subscriptionIDs) }
    }

    @preconcurrency
    public func modifySubscriptions(
        saving subscriptions: [CKSubscription], deleting subscriptionIDs: [CKSubscription.ID],
        completionHandler:
            @escaping @Sendable (Result<SubscriptionModifications, any Error>) -> Void
    ) {
        core.call(to: completionHandler) {
            try await self.modifySubscriptions(
                saving: subscriptions, deleting: subscriptionIDs)
        }
    }

    // MARK: Changes

    @preconcurrency
    public func fetchDatabaseChanges(
        since token: CKServerChangeToken?, resultsLimit: Int? = nil,
        completionHandler: @escaping @Sendable (Result<DatabaseChanges, any Error>) -> Void
    ) {
        core.call(to: completionHandler) {
            try await self.databaseChanges(since: token, resultsLimit: resultsLimit)
        }
    }

    @preconcurrency
    public func fetchRecordZoneChanges(
        inZoneWith zoneID: CKRecordZone.ID, since token: CKServerChangeToken?,
        desiredKeys: [CKRecord.FieldKey]? = nil, resultsLimit: Int? = nil,
        completionHandler: @escaping @Sendable (Result<RecordZoneChanges, any Error>) -> Void
    ) {
        core.call(to: completionHandler) {
            try await self.recordZoneChanges(
                inZoneWith: zoneID, since: token, desiredKeys: desiredKeys,
                resultsLimit: resultsLimit)
        }
    }
}
