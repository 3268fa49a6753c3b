import Foundation

// The convenience calls whose completion handlers take a value, or an error.

extension CKContainer {
    // MARK: Account

    @preconcurrency
    public func accountStatus(
        completionHandler: @escaping @Sendable (CKAccountStatus, (any Error)?) -> Void
    ) {
        core.call(to: completionHandler, orFailing: .couldNotDetermine) {
            try await self.accountStatus()
        }
    }

    @preconcurrency
    public func fetchUserRecordID(
        completionHandler: @escaping @Sendable (CKRecord.ID?, (any Error)?) -> Void
    ) {
        core.call(to: completionHandler) { try await self.userRecordID() }
    }

    // MARK: Permissions

    @preconcurrency
    public func status(
        forApplicationPermission applicationPermission: ApplicationPermissions,
        completionHandler: @escaping ApplicationPermissionBlock
    ) {
        core.call(to: completionHandler, orFailing: .couldNotComplete) {
            try await self.applicationPermissionStatus(for: applicationPermission)
        }
    }

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

    @preconcurrency
    public func discoverAllIdentities(
        completionHandler: @escaping @Sendable ([CKUserIdentity]?, (any Error)?) -> Void
    ) {
        core.call(to: completionHandler) { try await self.allUserIdentitiesFromContacts() }
    }

    @preconcurrency
    public func discoverUserIdentity(
        withEmailAddress email: String,
        completionHandler: @escaping @Sendable (CKUserIdentity?, (any Error)?) -> Void
    ) {
        core.call(to: completionHandler) { try await self.userIdentity(forEmailAddress: email) }
    }

    @preconcurrency
    public func discoverUserIdentity(
        withPhoneNumber phoneNumber: String,
        completionHandler: @escaping @Sendable (CKUserIdentity?, (any Error)?) -> Void
    ) {
        core.call(to: completionHandler) {
            try await self.userIdentity(forPhoneNumber: phoneNumber)
        }
    }

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

    @preconcurrency
    public func fetchShareMetadata(
        with url: URL,
        completionHandler: @escaping @Sendable (CKShare.Metadata?, (any Error)?) -> Void
    ) {
        core.call(to: completionHandler) { try await self.shareMetadata(for: url) }
    }

    @preconcurrency
    public func accept(
        _ metadata: CKShare.Metadata,
        completionHandler: @escaping @Sendable (CKShare?, (any Error)?) -> Void
    ) {
        core.call(to: completionHandler) { try await self.accept(metadata) }
    }

    @preconcurrency
    public func fetchShareParticipant(
        withEmailAddress emailAddress: String,
        completionHandler: @escaping @Sendable (CKShare.Participant?, (any Error)?) -> Void
    ) {
        core.call(to: completionHandler) {
            try await self.shareParticipant(forEmailAddress: emailAddress)
        }
    }

    @preconcurrency
    public func fetchShareParticipant(
        withPhoneNumber phoneNumber: String,
        completionHandler: @escaping @Sendable (CKShare.Participant?, (any Error)?) -> Void
    ) {
        core.call(to: completionHandler) {
            try await self.shareParticipant(forPhoneNumber: phoneNumber)
        }
    }

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

    @preconcurrency
    public func fetchAllLongLivedOperationIDs(
        completionHandler: @escaping @Sendable ([CKOperation.ID]?, (any Error)?) -> Void
    ) {
        core.call(to: completionHandler) { try await self.allLongLivedOperationIDs() }
    }

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

    @preconcurrency
    public func fetch(
        withRecordID recordID: CKRecord.ID,
        completionHandler: @escaping @Sendable (CKRecord?, (any Error)?) -> Void
    ) {
        core.call(to: completionHandler) { try await self.record(for: recordID) }
    }

    @preconcurrency
    public func save(
        _ record: CKRecord, completionHandler: @escaping @Sendable (CKRecord?, (any Error)?) -> Void
    ) {
        core.call(to: completionHandler) { try await self.save(record) }
    }

    @preconcurrency
    public func delete(
        withRecordID recordID: CKRecord.ID,
        completionHandler: @escaping @Sendable (CKRecord.ID?, (any Error)?) -> Void
    ) {
        core.call(to: completionHandler) { try await self.deleteRecord(withID: recordID) }
    }

    @available(*, deprecated, message: "Use fetch(withQuery:…).")
    @preconcurrency
    public func perform(
        _ query: CKQuery, inZoneWith zoneID: CKRecordZone.ID?,
        completionHandler: @escaping @Sendable ([CKRecord]?, (any Error)?) -> Void
    ) {
        core.call(to: completionHandler) { try await self.firstPage(of: query, zoneID) }
    }

    // MARK: Zones

    @preconcurrency
    public func fetch(
        withRecordZoneID zoneID: CKRecordZone.ID,
        completionHandler: @escaping @Sendable (CKRecordZone?, (any Error)?) -> Void
    ) {
        core.call(to: completionHandler) { try await self.recordZone(for: zoneID) }
    }

    @preconcurrency
    public func save(
        _ zone: CKRecordZone,
        completionHandler: @escaping @Sendable (CKRecordZone?, (any Error)?) -> Void
    ) {
        core.call(to: completionHandler) { try await self.save(zone) }
    }

    @preconcurrency
    public func delete(
        withRecordZoneID zoneID: CKRecordZone.ID,
        completionHandler: @escaping @Sendable (CKRecordZone.ID?, (any Error)?) -> Void
    ) {
        core.call(to: completionHandler) { try await self.deleteRecordZone(withID: zoneID) }
    }

    @preconcurrency
    public func fetchAllRecordZones(
        completionHandler: @escaping @Sendable ([CKRecordZone]?, (any Error)?) -> Void
    ) {
        core.call(to: completionHandler) { try await self.allRecordZones() }
    }

    // MARK: Subscriptions

    @preconcurrency
    public func fetch(
        withSubscriptionID subscriptionID: CKSubscription.ID,
        completionHandler: @escaping @Sendable (CKSubscription?, (any Error)?) -> Void
    ) {
        core.call(to: completionHandler) { try await self.subscription(for: subscriptionID) }
    }

    @preconcurrency
    public func save(
        _ subscription: CKSubscription,
        completionHandler: @escaping @Sendable (CKSubscription?, (any Error)?) -> Void
    ) {
        core.call(to: completionHandler) { try await self.save(subscription) }
    }

    @preconcurrency
    public func delete(
        withSubscriptionID subscriptionID: CKSubscription.ID,
        completionHandler: @escaping @Sendable (String?, (any Error)?) -> Void
    ) {
        core.call(to: completionHandler) {
            try await self.deleteSubscription(withID: subscriptionID)
        }
    }

    @preconcurrency
    public func fetchAllSubscriptions(
        completionHandler: @escaping @Sendable ([CKSubscription]?, (any Error)?) -> Void
    ) {
        core.call(to: completionHandler) { try await self.allSubscriptions() }
    }
}
