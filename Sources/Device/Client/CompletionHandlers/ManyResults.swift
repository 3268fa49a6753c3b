import Foundation

// The convenience calls whose completion handlers take a result, mostly one with the results of many
// items.

extension CKContainer {
    // MARK: People

    /// Finds people by verified e-mail address; the same as ``userIdentities(forEmailAddresses:)``.
    ///
    /// - Parameter completionHandler: gets the people who were found, by address; the others are left out.
    @preconcurrency
    public func discoverUserIdentities(
        forEmailAddresses emails: [String],
        completionHandler: @escaping @Sendable (Result<[String: CKUserIdentity], any Error>) -> Void
    ) {
        core.call(to: completionHandler) {
            try await self.userIdentities(forEmailAddresses: emails)
        }
    }

    /// Looks people up by phone number; Stratus's service finds no one, because its accounts have none.
    ///
    /// - Parameter completionHandler: gets the people who were found, by phone number.
    @preconcurrency
    public func discoverUserIdentities(
        forPhoneNumbers phoneNumbers: [String],
        completionHandler: @escaping @Sendable (Result<[String: CKUserIdentity], any Error>) -> Void
    ) {
        core.call(to: completionHandler) {
            try await self.userIdentities(forPhoneNumbers: phoneNumbers)
        }
    }

    /// Finds people by user record; the same as ``userIdentities(forUserRecordIDs:)``.
    ///
    /// - Parameter completionHandler: gets the people who were found, by record ID; the others are left out.
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

    /// Fetches the metadata of the shares behind links; the same as ``shareMetadatas(for:)``.
    ///
    /// - Parameter completionHandler: gets a result for each link, or the error of the request as a whole.
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

    /// Joins shares, each in the container that its metadata names.
    ///
    /// - Parameter completionHandler: gets a result for each share, or an error if no container answered.
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

    /// Looks people up by e-mail address, as participants to add to a share; anyone can be invited.
    ///
    /// - Parameter completionHandler: gets a participant or an error for each address, or the error of the
    ///   request as a whole.
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

    /// Looks people up by phone number, as participants to add to a share; anyone can be invited.
    ///
    /// - Parameter completionHandler: gets a participant or an error for each phone number, or the error of
    ///   the request as a whole.
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

    /// Looks people up by user record, as participants to add to a share.
    ///
    /// - Parameter completionHandler: gets a participant or an error for each record ID, or the error of the
    ///   request as a whole.
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

    /// Fetches records with one request; the same as ``records(for:desiredKeys:)``.
    ///
    /// - Parameter desiredKeys: the fields to fetch; nil fetches all, an empty list only the system's.
    /// - Parameter completionHandler: gets a result for each record, or the error of the request as a whole.
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

    /// Saves and deletes records with one request; see
    /// ``modifyRecords(saving:deleting:savePolicy:atomically:)``.
    ///
    /// - Parameter atomically: whether the changes in a custom zone are made either all or not at all.
    /// - Parameter completionHandler: gets a result for each record, or the error of the request as a whole.
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

    /// Runs a query and fetches its first page.
    ///
    /// - Parameter zoneID: the zone to search; nil searches all zones, but the shared database needs one.
    /// - Parameter desiredKeys: the fields to fetch; nil fetches all, an empty list only the system's.
    /// - Parameter resultsLimit: how many records the page has at most; 0, the default, lets the service decide.
    /// - Parameter completionHandler: gets the matches in the query's order, and a cursor if there are more.
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

    /// Fetches the next page of a query.
    ///
    /// - Parameter cursor: the cursor of the previous page.
    /// - Parameter desiredKeys: the fields to fetch; nil fetches all, an empty list only the system's.
    /// - Parameter resultsLimit: how many records the page has at most; 0, the default, lets the service decide.
    /// - Parameter completionHandler: gets the matches in the query's order, and a cursor if there are more.
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

    /// Fetches zones by ID; the same as ``recordZones(for:)``.
    ///
    /// - Parameter completionHandler: gets a result for each zone, or the error of the request as a whole.
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

    /// Creates and deletes zones; the same as ``modifyRecordZones(saving:deleting:)``.
    ///
    /// - Parameter completionHandler: gets a result for each zone, or the error of the request as a whole, such
    ///   as `CKError.badDatabase` in the public database.
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

    /// Fetches subscriptions by ID; the same as ``subscriptions(for:)``.
    ///
    /// - Parameter completionHandler: gets a result for each subscription, or the error of the request as a
    ///   whole.
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

    /// Saves and deletes subscriptions; the same as ``modifySubscriptions(saving:deleting:)``.
    ///
    /// - Parameter completionHandler: gets a result for each subscription, or the error of the request as a
    ///   whole.
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

    /// Fetches one page of the zones that changed; the same as ``databaseChanges(since:resultsLimit:)``.
    ///
    /// - Parameter token: the change token of the previous page; nil starts from the beginning.
    /// - Parameter resultsLimit: how many zones the page has at most; nil lets the service decide.
    /// - Parameter completionHandler: gets the page, or an error such as `CKError.changeTokenExpired`.
    @preconcurrency
    public func fetchDatabaseChanges(
        since token: CKServerChangeToken?, resultsLimit: Int? = nil,
        completionHandler: @escaping @Sendable (Result<DatabaseChanges, any Error>) -> Void
    ) {
        core.call(to: completionHandler) {
            try await self.databaseChanges(since: token, resultsLimit: resultsLimit)
        }
    }

    /// Fetches one page of the changes in a zone; the same as
    /// ``recordZoneChanges(inZoneWith:since:desiredKeys:resultsLimit:)``.
    ///
    /// - Parameter token: the change token of the previous page; nil starts from the beginning.
    /// - Parameter desiredKeys: the fields to fetch; nil fetches all, an empty list only the system's.
    /// - Parameter resultsLimit: how many records the page has at most; nil lets the service decide.
    /// - Parameter completionHandler: gets the page, or an error such as `CKError.zoneNotFound` or
    ///   `changeTokenExpired`. The errors of single records are in the page.
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
