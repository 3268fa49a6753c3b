import Algorithms
import Foundation

/// Fetches the changes in zones since their tokens, zone by zone.
///
/// The first pages of a group of zones are fetched with one request; then each zone is fetched to
/// its end before the next one is reported. Pages are reported as they arrive while the next one is
/// fetched, and none is kept.
///
/// ```swift
/// let zoneID = CKRecordZone.ID(zoneName: "Trips")
/// let operation = CKFetchRecordZoneChangesOperation(
///     recordZoneIDs: [zoneID],
///     configurationsByRecordZoneID: [zoneID: .init(previousServerChangeToken: token)])
/// operation.recordWasChangedBlock = { id, result in show(id, result) }
/// operation.recordWithIDWasDeletedBlock = { id, type in print(type, id.recordName, "is deleted") }
/// database.add(operation)
/// ```
public final class CKFetchRecordZoneChangesOperation: CKDatabaseOperation, @unchecked Sendable {
    // `@unchecked Sendable`, as in ``CKOperation``: settings and blocks are set before it is enqueued, and the rest is
    // touched only while it performs.

    /// The settings of one zone's fetch: its change token, the fields and the size of a page.
    public typealias ZoneConfiguration = CKFetchRecordZoneChangesConfiguration

    /// The older name of ``ZoneConfiguration``.
    @available(*, deprecated, renamed: "ZoneConfiguration")
    public typealias ZoneOptions = CKFetchRecordZoneChangesConfiguration

    /// Zones of one request.
    static let zonesPerRequest = 50

    /// The zones to fetch, in this order; nil fetches the zones that have a configuration.
    public var recordZoneIDs: [CKRecordZone.ID]?
    /// The settings by zone. A zone without any is fetched from the beginning, with all fields.
    public var configurationsByRecordZoneID: [CKRecordZone.ID: ZoneConfiguration]?
    /// Whether the operation continues until there are no more changes.
    public var fetchAllChanges = true

    /// Called for each changed record, oldest change first.
    public var recordWasChangedBlock: ((CKRecord.ID, Result<CKRecord, any Error>) -> Void)?
    /// Called for each deleted record with its former type, which is empty if the service does not send it.
    public var recordWithIDWasDeletedBlock: ((CKRecord.ID, CKRecord.RecordType) -> Void)?
    /// Called after each answer except a zone's last. The data is always nil, because the protocol
    /// has no such data.
    public var recordZoneChangeTokensUpdatedBlock:
        ((CKRecordZone.ID, CKServerChangeToken?, Data?) -> Void)?
    /// Called once for each zone.
    public var recordZoneFetchResultBlock:
        (
            (
                CKRecordZone.ID,
                Result<
                    (
                        serverChangeToken: CKServerChangeToken, clientChangeTokenData: Data?,
                        moreComing: Bool
                    ), any Error
                >
            ) -> Void
        )?
    /// Succeeds unless the operation failed as a whole; the errors of zones are in their own
    /// results.
    public var fetchRecordZoneChangesResultBlock: ((Result<Void, any Error>) -> Void)?

    var oldRecordBlock: ((CKRecord) -> Void)?
    var oldZoneBlock: ((CKRecordZone.ID, CKServerChangeToken?, Data?, Bool, (any Error)?) -> Void)?

    /// Makes an operation that fetches the changes in zones.
    ///
    /// - Parameter recordZoneIDs: nil fetches the zones that have a configuration.
    /// - Parameter configurationsByRecordZoneID: a zone without one is fetched from the beginning.
    public convenience init(
        recordZoneIDs: [CKRecordZone.ID]? = nil,
        configurationsByRecordZoneID: [CKRecordZone.ID: ZoneConfiguration]? = nil
    ) {
        self.init(operationID: UUID().uuidString)
        self.recordZoneIDs = recordZoneIDs
        self.configurationsByRecordZoneID = configurationsByRecordZoneID
    }

    /// Makes an operation that fetches the changes in zones, as code before zone configurations wrote it.
    @available(*, deprecated, renamed: "init(recordZoneIDs:configurationsByRecordZoneID:)")
    public convenience init(
        recordZoneIDs: [CKRecordZone.ID],
        optionsByRecordZoneID: [CKRecordZone.ID: ZoneConfiguration]?
    ) {
        self.init(
            recordZoneIDs: recordZoneIDs, configurationsByRecordZoneID: optionsByRecordZoneID)
    }

    override func perform() async throws {
        let session = session()
        let zoneIDs = recordZoneIDs ?? configurationsByRecordZoneID.map { Array($0.keys) } ?? []
        let questions = zoneIDs.map { zoneID in
            let configuration = configurationsByRecordZoneID?[zoneID]
            return ZoneChangesQuestion(
                zoneID: zoneID, token: configuration?.previousServerChangeToken,
                resultsLimit: configuration?.resultsLimit ?? 0,
                desiredKeys: configuration?.desiredKeys)
        }
        for group in questions.chunks(ofCount: Self.zonesPerRequest) {
            for (question, result) in zip(group, try await session.zoneChanges(Array(group))) {
                try await follow(question, result, session)
            }
        }
    }

    /// Reports a zone's first page, then fetches and reports the others.
    private func follow(
        _ question: ZoneChangesQuestion, _ first: Result<ZoneChangesPage, CKError>,
        _ session: DatabaseSession
    ) async throws {
        var question = question
        var result = first
        while true {
            switch result {
            case .failure:
                try await hand(Page(zoneID: question.zoneID, result: result))
                return
            case .success(let answered):
                // Completed only after the earlier zones were reported, because assets may take
                // long.
                let page = try await session.completed(answered)
                let goesOn = page.moreComing && fetchAllChanges
                try await hand(
                    Page(
                        zoneID: question.zoneID, result: .success(page), isIntermediate: goesOn))
                if !goesOn { return }
                question.token = page.token
                guard let next = try await session.zoneChanges([question]).first else { return }
                result = next
            }
        }
    }

    /// A page of one zone's changes.
    struct Page: Sendable {
        var zoneID: CKRecordZone.ID
        var result: Result<ZoneChangesPage, CKError>
        /// Whether another page of the zone follows.
        var isIntermediate = false
    }

    func callBlocks(_ page: Page) {
        switch page.result {
        case .failure(let error): callBlocks(page.zoneID, failedWith: error)
        case .success(let changes):
            callBlocks(changes.changes)
            if !isCancelled {
                callBlocks(page.zoneID, changes, isIntermediate: page.isIntermediate)
            }
        }
    }

    private func callBlocks(_ changes: [ZoneChangesPage.Change]) {
        forEach(changes) { change in
            switch change {
            case .changed(let record):
                if let recordWasChangedBlock {
                    recordWasChangedBlock(record.recordID, .success(record))
                } else {
                    oldRecordBlock?(record)
                }
            case .failed(let recordID, let error):
                itemErrors[recordID] = error
                recordWasChangedBlock?(recordID, .failure(error))
            case .deleted(let deletion):
                recordWithIDWasDeletedBlock?(deletion.recordID, deletion.recordType)
            }
        }
    }

    private func callBlocks(
        _ zoneID: CKRecordZone.ID, _ page: ZoneChangesPage, isIntermediate: Bool
    ) {
        if isIntermediate {
            recordZoneChangeTokensUpdatedBlock?(zoneID, page.token, nil)
        } else {
            recordZoneFetchResultBlock?(zoneID, .success((page.token, nil, page.moreComing)))
            oldZoneBlock?(zoneID, page.token, nil, page.moreComing, nil)
        }
    }

    private func callBlocks(_ zoneID: CKRecordZone.ID, failedWith error: CKError) {
        itemErrors[zoneID] = error
        recordZoneFetchResultBlock?(zoneID, .failure(error))
        oldZoneBlock?(zoneID, nil, nil, false, error)
    }

    override func end(_ error: CKError?) {
        fetchRecordZoneChangesResultBlock?(Result(error))
        recordWasChangedBlock = nil
        recordWithIDWasDeletedBlock = nil
        recordZoneChangeTokensUpdatedBlock = nil
        recordZoneFetchResultBlock = nil
        fetchRecordZoneChangesResultBlock = nil
        (oldRecordBlock, oldZoneBlock) = (nil, nil)
        super.end(error)
    }
}
