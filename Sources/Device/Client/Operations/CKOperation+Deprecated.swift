import Foundation

extension CKOperation {
    /// The container of the operation; nil means `CKContainer.default()`. See
    /// ``CKOperationConfiguration/container``.
    @available(*, deprecated, message: "Use configuration.container.")
    public var container: CKContainer? {
        get { configuration.container }
        set { configuration.container = newValue }
    }

    /// Has no effect on Linux; see ``CKOperationConfiguration/allowsCellularAccess``.
    @available(*, deprecated, message: "Use configuration.allowsCellularAccess.")
    public var allowsCellularAccess: Bool {
        get { configuration.allowsCellularAccess }
        set { configuration.allowsCellularAccess = newValue }
    }

    /// Whether a later process can continue the operation; false by default. See
    /// ``CKOperationConfiguration/isLongLived``.
    @available(*, deprecated, message: "Use configuration.isLongLived.")
    public var isLongLived: Bool {
        get { configuration.isLongLived }
        set { configuration.isLongLived = newValue }
    }

    /// Seconds that one request may take; 60 by default. See
    /// ``CKOperationConfiguration/timeoutIntervalForRequest``.
    @available(*, deprecated, message: "Use configuration.timeoutIntervalForRequest.")
    public var timeoutIntervalForRequest: TimeInterval {
        get { configuration.timeoutIntervalForRequest }
        set { configuration.timeoutIntervalForRequest = newValue }
    }

    /// Seconds that the operation may take with all its requests; -1 means no limit. See
    /// ``CKOperationConfiguration/timeoutIntervalForResource``.
    @available(*, deprecated, message: "Use configuration.timeoutIntervalForResource.")
    public var timeoutIntervalForResource: TimeInterval {
        get { configuration.timeoutIntervalForResource }
        set { configuration.timeoutIntervalForResource = newValue }
    }
}

// MARK: Blocks of older code

extension CKAcceptSharesOperation {
    /// Ignored when ``perShareResultBlock`` is set.
    @available(*, deprecated, message: "Use perShareResultBlock.")
    public var perShareCompletionBlock: ((CKShare.Metadata, CKShare?, (any Error)?) -> Void)? {
        get { oldShareBlock }
        set { oldShareBlock = newValue }
    }

    /// Called at the end; the error is `partialFailure`, by the shares' links, when single ones
    /// failed.
    @available(*, deprecated, message: "Use acceptSharesResultBlock.")
    public var acceptSharesCompletionBlock: (((any Error)?) -> Void)? {
        get { oldCompletionBlock }
        set { oldCompletionBlock = newValue }
    }
}

extension CKDiscoverAllUserIdentitiesOperation {
    /// Called once at the end; the error is nil unless the operation failed as a whole.
    @available(*, deprecated, message: "Use discoverAllUserIdentitiesResultBlock.")
    public var discoverAllUserIdentitiesCompletionBlock: (((any Error)?) -> Void)? {
        get { oldCompletionBlock }
        set { oldCompletionBlock = newValue }
    }
}

extension CKDiscoverUserIdentitiesOperation {
    /// Called once at the end; the error is nil unless the operation failed as a whole.
    @available(*, deprecated, message: "Use discoverUserIdentitiesResultBlock.")
    public var discoverUserIdentitiesCompletionBlock: (((any Error)?) -> Void)? {
        get { oldCompletionBlock }
        set { oldCompletionBlock = newValue }
    }
}

extension CKFetchDatabaseChangesOperation {
    /// Called once at the end with the last change token, whether more changes follow, and the
    /// error. The token is nil when no changes were fetched.
    @available(*, deprecated, message: "Use fetchDatabaseChangesResultBlock.")
    public var fetchDatabaseChangesCompletionBlock:
        ((CKServerChangeToken?, Bool, (any Error)?) -> Void)?
    {
        get { oldChangesBlock }
        set { oldChangesBlock = newValue }
    }
}

extension CKFetchRecordZoneChangesOperation {
    /// The settings of each zone: the same as ``configurationsByRecordZoneID``.
    @available(*, deprecated, renamed: "configurationsByRecordZoneID")
    public var optionsByRecordZoneID: [CKRecordZone.ID: ZoneConfiguration]? {
        get { configurationsByRecordZoneID }
        set { configurationsByRecordZoneID = newValue }
    }

    /// Ignored when ``recordWasChangedBlock`` is set.
    @available(*, deprecated, message: "Use recordWasChangedBlock.")
    public var recordChangedBlock: ((CKRecord) -> Void)? {
        get { oldRecordBlock }
        set { oldRecordBlock = newValue }
    }

    /// Called once for each zone with its change token, nil for the client's token data, whether
    /// more changes follow, and its error. The token is nil when the zone failed.
    @available(*, deprecated, message: "Use recordZoneFetchResultBlock.")
    public var recordZoneFetchCompletionBlock:
        ((CKRecordZone.ID, CKServerChangeToken?, Data?, Bool, (any Error)?) -> Void)?
    {
        get { oldZoneBlock }
        set { oldZoneBlock = newValue }
    }

    /// The error is `partialFailure` when single zones failed.
    @available(*, deprecated, message: "Use fetchRecordZoneChangesResultBlock.")
    public var fetchRecordZoneChangesCompletionBlock: (((any Error)?) -> Void)? {
        get { oldCompletionBlock }
        set { oldCompletionBlock = newValue }
    }
}

extension CKFetchRecordZonesOperation {
    /// Called at the end with the zones that were fetched; the error is `partialFailure` when
    /// single zones failed.
    @available(*, deprecated, message: "Use fetchRecordZonesResultBlock.")
    public var fetchRecordZonesCompletionBlock:
        (([CKRecordZone.ID: CKRecordZone]?, (any Error)?) -> Void)?
    {
        get { oldItemsBlock }
        set { oldItemsBlock = newValue }
    }
}

extension CKFetchRecordsOperation {
    /// Ignored when ``perRecordResultBlock`` is set.
    @available(*, deprecated, message: "Use perRecordResultBlock.")
    public var perRecordCompletionBlock: ((CKRecord?, CKRecord.ID?, (any Error)?) -> Void)? {
        get { oldRecordBlock }
        set { oldRecordBlock = newValue }
    }

    /// Called at the end with what succeeded; the error is `partialFailure` when single records
    /// failed.
    @available(*, deprecated, message: "Use fetchRecordsResultBlock.")
    public var fetchRecordsCompletionBlock: (([CKRecord.ID: CKRecord]?, (any Error)?) -> Void)? {
        get { oldItemsBlock }
        set { oldItemsBlock = newValue }
    }
}

extension CKFetchShareMetadataOperation {
    /// Ignored when ``perShareMetadataResultBlock`` is set.
    @available(*, deprecated, message: "Use perShareMetadataResultBlock.")
    public var perShareMetadataBlock: ((URL, CKShare.Metadata?, (any Error)?) -> Void)? {
        get { oldMetadataBlock }
        set { oldMetadataBlock = newValue }
    }

    /// Called at the end; the error is `partialFailure`, by link, when single ones failed.
    @available(*, deprecated, message: "Use fetchShareMetadataResultBlock.")
    public var fetchShareMetadataCompletionBlock: (((any Error)?) -> Void)? {
        get { oldCompletionBlock }
        set { oldCompletionBlock = newValue }
    }
}

extension CKFetchShareParticipantsOperation {
    /// Ignored when ``perShareParticipantResultBlock`` is set.
    @available(*, deprecated, message: "Use perShareParticipantResultBlock.")
    public var shareParticipantFetchedBlock: ((CKShare.Participant) -> Void)? {
        get { oldParticipantBlock }
        set { oldParticipantBlock = newValue }
    }

    /// Called at the end; the error is `partialFailure`, by lookup, when single ones failed.
    @available(*, deprecated, message: "Use fetchShareParticipantsResultBlock.")
    public var fetchShareParticipantsCompletionBlock: (((any Error)?) -> Void)? {
        get { oldCompletionBlock }
        set { oldCompletionBlock = newValue }
    }
}

extension CKFetchSubscriptionsOperation {
    /// Called at the end with the subscriptions that were fetched; the error is `partialFailure`
    /// when single ones failed.
    @available(*, deprecated, message: "Use fetchSubscriptionsResultBlock.")
    public var fetchSubscriptionCompletionBlock:
        (([CKSubscription.ID: CKSubscription]?, (any Error)?) -> Void)?
    {
        get { oldItemsBlock }
        set { oldItemsBlock = newValue }
    }
}

extension CKFetchWebAuthTokenOperation {
    /// Called at the end with the web-auth token, or with nil and the error.
    @available(*, deprecated, message: "Use fetchWebAuthTokenResultBlock.")
    public var fetchWebAuthTokenCompletionBlock: ((String?, (any Error)?) -> Void)? {
        get { oldTokenBlock }
        set { oldTokenBlock = newValue }
    }
}

extension CKModifyRecordZonesOperation {
    /// Called at the end with the zones that were saved and the IDs of those that were deleted; the
    /// error is `partialFailure` when single zones failed.
    @available(*, deprecated, message: "Use modifyRecordZonesResultBlock.")
    public var modifyRecordZonesCompletionBlock:
        (([CKRecordZone]?, [CKRecordZone.ID]?, (any Error)?) -> Void)?
    {
        get { oldItemsBlock }
        set { oldItemsBlock = newValue }
    }
}

extension CKModifyRecordsOperation {
    /// Ignored when ``perRecordSaveBlock`` is set.
    @available(*, deprecated, message: "Use perRecordSaveBlock.")
    public var perRecordCompletionBlock: ((CKRecord, (any Error)?) -> Void)? {
        get { oldRecordBlock }
        set { oldRecordBlock = newValue }
    }

    /// Called at the end with what succeeded; the error is `partialFailure` when single records
    /// failed.
    @available(*, deprecated, message: "Use modifyRecordsResultBlock.")
    public var modifyRecordsCompletionBlock: (([CKRecord]?, [CKRecord.ID]?, (any Error)?) -> Void)?
    {
        get { oldItemsBlock }
        set { oldItemsBlock = newValue }
    }
}

extension CKModifySubscriptionsOperation {
    /// Called at the end with the subscriptions that were saved and the IDs of those that were
    /// deleted; the error is `partialFailure` when single ones failed.
    @available(*, deprecated, message: "Use modifySubscriptionsResultBlock.")
    public var modifySubscriptionsCompletionBlock:
        (([CKSubscription]?, [CKSubscription.ID]?, (any Error)?) -> Void)?
    {
        get { oldItemsBlock }
        set { oldItemsBlock = newValue }
    }
}

extension CKQueryOperation {
    /// Ignored when ``recordMatchedBlock`` is set.
    @available(*, deprecated, message: "Use recordMatchedBlock.")
    public var recordFetchedBlock: ((CKRecord) -> Void)? {
        get { oldRecordBlock }
        set { oldRecordBlock = newValue }
    }

    /// Called at the end with the cursor of the next page, which is nil after the last one; the
    /// error is `partialFailure` when single records failed.
    @available(*, deprecated, message: "Use queryResultBlock.")
    public var queryCompletionBlock: ((Cursor?, (any Error)?) -> Void)? {
        get { oldCursorBlock }
        set { oldCursorBlock = newValue }
    }
}
