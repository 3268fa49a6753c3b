import Foundation

// The convenience calls whose completion handlers take a value, or an error.

extension CKContainer {
    // MARK: Account

    /// Asks the service whether private data can be reached; the same as ``accountStatus()``.
    ///
    /// - Parameter completionHandler: gets the status and nil, or `couldNotDetermine` and the error.
    @preconcurrency
    public func accountStatus(
        completionHandler: @escaping @Sendable (CKAccountStatus, (any Error)?) -> Void
    ) {
        core.call(to: completionHandler, orFailing: .couldNotDetermine) {
            try await self.accountStatus()
        }
    }

    /// Fetches the ID of the user's own record; the same as ``userRecordID()``.
    ///
    /// - Parameter completionHandler: gets the ID, or an error, such as `CKError.notAuthenticated` without an
    ///   account.
    @preconcurrency
    public func fetchUserRecordID(
        completionHandler: @escaping @Sendable (CKRecord.ID?, (any Error)?) -> Void
    ) {
        core.call(to: completionHandler) { try await self.userRecordID() }
    }

    // MARK: Permissions

    /// Asks whether a permission was given; the same as ``applicationPermissionStatus(for:)``.
    ///
    /// - Parameter completionHandler: gets the status and nil, or `couldNotComplete` and the error.
    @preconcurrency
    public func status(
        forApplicationPermission applicationPermission: ApplicationPermissions,
        completionHandler: @escaping ApplicationPermissionBlock
    ) {
        core.call(to: completionHandler, orFailing: .couldNotComplete) {
            try await self.applicationPermissionStatus(for: applicationPermission)
        }
    }

    /// Gives a permission without asking the person; see ``requestApplicationPermission(_:)``.
    ///
    /// - Parameter completionHandler: gets the status and nil, or `couldNotComplete` and the error.
    @preconcurrency
    public func requestApplicationPermission(
        _ applicationPermission: ApplicationPermissions,
        completionHandler: @escaping ApplicationPermissionBlock
    ) {
        core.call(to: completionHandler, orFailing: .couldNotComplete) {
            try await self.requestApplicationPermission(applicationPermission)
        }
    }

    // MARK: People

    /// Finds the people in the user's address book; the same as ``allUserIdentitiesFromContacts()``.
    ///
    /// - Parameter completionHandler: gets an empty list, because Stratus's service has no address book, or an
    ///   error.
    @preconcurrency
    public func discoverAllIdentities(
        completionHandler: @escaping @Sendable ([CKUserIdentity]?, (any Error)?) -> Void
    ) {
        core.call(to: completionHandler) { try await self.allUserIdentitiesFromContacts() }
    }

    /// Finds a person by verified e-mail address; the same as ``userIdentity(forEmailAddress:)``.
    ///
    /// - Parameter completionHandler: gets the person, nil and nil if no one was found, or nil and the error.
    @preconcurrency
    public func discoverUserIdentity(
        withEmailAddress email: String,
        completionHandler: @escaping @Sendable (CKUserIdentity?, (any Error)?) -> Void
    ) {
        core.call(to: completionHandler) { try await self.userIdentity(forEmailAddress: email) }
    }

    /// Looks a person up by phone number; Stratus's service finds no one, because its accounts have none.
    ///
    /// - Parameter completionHandler: gets the person, nil and nil if no one was found, or nil and the error.
    @preconcurrency
    public func discoverUserIdentity(
        withPhoneNumber phoneNumber: String,
        completionHandler: @escaping @Sendable (CKUserIdentity?, (any Error)?) -> Void
    ) {
        core.call(to: completionHandler) {
            try await self.userIdentity(forPhoneNumber: phoneNumber)
        }
    }

    /// Finds a person by user record; the same as ``userIdentity(forUserRecordID:)``.
    ///
    /// - Parameter completionHandler: gets the person, nil and nil if no one was found, or nil and the error.
    @preconcurrency
    public func discoverUserIdentity(
        withUserRecordID userRecordID: CKRecord.ID,
        completionHandler: @escaping @Sendable (CKUserIdentity?, (any Error)?) -> Void
    ) {
        core.call(to: completionHandler) {
            try await self.userIdentity(forUserRecordID: userRecordID)
        }
    }

    // MARK: Sharing

    /// Fetches the metadata of the share behind a link; the same as ``shareMetadata(for:)``.
    ///
    /// - Parameter completionHandler: gets the metadata, or an error, such as `CKError.unknownItem` for a link
    ///   that leads nowhere.
    @preconcurrency
    public func fetchShareMetadata(
        with url: URL,
        completionHandler: @escaping @Sendable (CKShare.Metadata?, (any Error)?) -> Void
    ) {
        core.call(to: completionHandler) { try await self.shareMetadata(for: url) }
    }

    /// Joins a share; its zone then appears in the shared database.
    ///
    /// - Parameter completionHandler: gets the share as the user now sees it, or the error.
    @preconcurrency
    public func accept(
        _ metadata: CKShare.Metadata,
        completionHandler: @escaping @Sendable (CKShare?, (any Error)?) -> Void
    ) {
        core.call(to: completionHandler) { try await self.accept(metadata) }
    }

    /// Looks a person up by e-mail address, as a participant to add to a share; anyone can be invited.
    ///
    /// - Parameter completionHandler: gets a participant with permission to read, or the error.
    @preconcurrency
    public func fetchShareParticipant(
        withEmailAddress emailAddress: String,
        completionHandler: @escaping @Sendable (CKShare.Participant?, (any Error)?) -> Void
    ) {
        core.call(to: completionHandler) {
            try await self.shareParticipant(forEmailAddress: emailAddress)
        }
    }

    /// Looks a person up by phone number, as a participant to add to a share; anyone can be invited.
    ///
    /// - Parameter completionHandler: gets a participant with permission to read, or the error.
    @preconcurrency
    public func fetchShareParticipant(
        withPhoneNumber phoneNumber: String,
        completionHandler: @escaping @Sendable (CKShare.Participant?, (any Error)?) -> Void
    ) {
        core.call(to: completionHandler) {
            try await self.shareParticipant(forPhoneNumber: phoneNumber)
        }
    }

    /// Looks a person up by user record, as a participant to add to a share.
    ///
    /// - Parameter completionHandler: gets a participant with permission to read, or the error.
    @preconcurrency
    public func fetchShareParticipant(
        withUserRecordID userRecordID: CKRecord.ID,
        completionHandler: @escaping @Sendable (CKShare.Participant?, (any Error)?) -> Void
    ) {
        core.call(to: completionHandler) {
            try await self.shareParticipant(forUserRecordID: userRecordID)
        }
    }

    // MARK: Long-lived operations

    /// Lists the user's long-lived operations that can be continued; the same as
    /// ``allLongLivedOperationIDs()``.
    ///
    /// - Parameter completionHandler: gets the IDs, an empty list when there are none, or the error.
    @preconcurrency
    public func fetchAllLongLivedOperationIDs(
        completionHandler: @escaping @Sendable ([CKOperation.ID]?, (any Error)?) -> Void
    ) {
        core.call(to: completionHandler) { try await self.allLongLivedOperationIDs() }
    }

    /// Fetches a long-lived operation that an earlier process began; the same as ``longLivedOperation(for:)``.
    ///
    /// - Parameter completionHandler: gets the operation; nil and nil when there is none to continue; or nil and
    ///   the error.
    @preconcurrency
    public func fetchLongLivedOperation(
        withID operationID: CKOperation.ID,
        completionHandler: @escaping @Sendable (CKOperation?, (any Error)?) -> Void
    ) {
        core.call(to: completionHandler) { try await self.longLivedOperation(for: operationID) }
    }
}

extension CKDatabase {
    // MARK: Records

    /// Fetches a record with all its fields; the same as ``record(for:)``.
    ///
    /// - Parameter completionHandler: gets the record, or its own error, such as `CKError.unknownItem`.
    @preconcurrency
    public func fetch(
        withRecordID recordID: CKRecord.ID,
        completionHandler: @escaping @Sendable (CKRecord?, (any Error)?) -> Void
    ) {
        core.call(to: completionHandler) { try await self.record(for: recordID) }
    }

    /// Saves a record if it has not been changed elsewhere since it was fetched.
    ///
    /// - Parameter completionHandler: gets the same record, brought up to date, or its own error, such as
    ///   `CKError.serverRecordChanged`.
    @preconcurrency
    public func save(
        _ record: CKRecord, completionHandler: @escaping @Sendable (CKRecord?, (any Error)?) -> Void
    ) {
        core.call(to: completionHandler) { try await self.save(record) }
    }

    /// Deletes a record, regardless of its change tag; deleting one that does not exist succeeds.
    ///
    /// - Parameter completionHandler: gets the record's ID, or its own error, such as `CKError.zoneNotFound`.
    @preconcurrency
    public func delete(
        withRecordID recordID: CKRecord.ID,
        completionHandler: @escaping @Sendable (CKRecord.ID?, (any Error)?) -> Void
    ) {
        core.call(to: completionHandler) { try await self.deleteRecord(withID: recordID) }
    }

    /// Runs a query and fetches only its first page; there is no cursor for the rest.
    ///
    /// - Parameter zoneID: the zone to search; nil searches all zones, but the shared database needs one.
    /// - Parameter completionHandler: gets the records, or an error, also when a single record has one.
    @available(*, deprecated, message: "Use fetch(withQuery:…).")
    @preconcurrency
    public func perform(
        _ query: CKQuery, inZoneWith zoneID: CKRecordZone.ID?,
        completionHandler: @escaping @Sendable ([CKRecord]?, (any Error)?) -> Void
    ) {
        core.call(to: completionHandler) { try await self.firstPage(of: query, zoneID) }
    }

    // MARK: Zones

    /// Fetches a zone by ID; the same as ``recordZone(for:)``.
    ///
    /// - Parameter completionHandler: gets the zone, or its own error, such as `CKError.zoneNotFound`.
    @preconcurrency
    public func fetch(
        withRecordZoneID zoneID: CKRecordZone.ID,
        completionHandler: @escaping @Sendable (CKRecordZone?, (any Error)?) -> Void
    ) {
        core.call(to: completionHandler) { try await self.recordZone(for: zoneID) }
    }

    /// Creates a zone in the private database; it is not an error if the zone exists.
    ///
    /// - Parameter completionHandler: gets the zone as the service has it, or an error, such as
    ///   `CKError.badDatabase` in another database.
    @preconcurrency
    public func save(
        _ zone: CKRecordZone,
        completionHandler: @escaping @Sendable (CKRecordZone?, (any Error)?) -> Void
    ) {
        core.call(to: completionHandler) { try await self.save(zone) }
    }

    /// Deletes a zone and all its records permanently; in the shared database, leaves its shares.
    ///
    /// - Parameter completionHandler: gets the zone's ID, also if there was no such zone, or the error.
    @preconcurrency
    public func delete(
        withRecordZoneID zoneID: CKRecordZone.ID,
        completionHandler: @escaping @Sendable (CKRecordZone.ID?, (any Error)?) -> Void
    ) {
        core.call(to: completionHandler) { try await self.deleteRecordZone(withID: zoneID) }
    }

    /// Fetches all zones of the database; the same as ``allRecordZones()``.
    ///
    /// - Parameter completionHandler: gets the zones, or the error.
    @preconcurrency
    public func fetchAllRecordZones(
        completionHandler: @escaping @Sendable ([CKRecordZone]?, (any Error)?) -> Void
    ) {
        core.call(to: completionHandler) { try await self.allRecordZones() }
    }

    // MARK: Subscriptions

    /// Fetches one of the user's subscriptions; the same as ``subscription(for:)``.
    ///
    /// - Parameter completionHandler: gets the subscription, or its own error, such as `CKError.unknownItem`.
    @preconcurrency
    public func fetch(
        withSubscriptionID subscriptionID: CKSubscription.ID,
        completionHandler: @escaping @Sendable (CKSubscription?, (any Error)?) -> Void
    ) {
        core.call(to: completionHandler) { try await self.subscription(for: subscriptionID) }
    }

    /// Saves a subscription, replacing the user's one with the same ID.
    ///
    /// - Parameter completionHandler: gets the subscription, or its own error.
    @preconcurrency
    public func save(
        _ subscription: CKSubscription,
        completionHandler: @escaping @Sendable (CKSubscription?, (any Error)?) -> Void
    ) {
        core.call(to: completionHandler) { try await self.save(subscription) }
    }

    /// Deletes one of the user's subscriptions; the same as ``deleteSubscription(withID:)``.
    ///
    /// - Parameter completionHandler: gets its ID, or its own error, such as `CKError.unknownItem`.
    @preconcurrency
    public func delete(
        withSubscriptionID subscriptionID: CKSubscription.ID,
        completionHandler: @escaping @Sendable (String?, (any Error)?) -> Void
    ) {
        core.call(to: completionHandler) {
            try await self.deleteSubscription(withID: subscriptionID)
        }
    }

    /// Fetches all subscriptions of the user in the database; the same as ``allSubscriptions()``.
    ///
    /// - Parameter completionHandler: gets the subscriptions that can be read, or the error of the request.
    @preconcurrency
    public func fetchAllSubscriptions(
        completionHandler: @escaping @Sendable ([CKSubscription]?, (any Error)?) -> Void
    ) {
        core.call(to: completionHandler) { try await self.allSubscriptions() }
    }
}
