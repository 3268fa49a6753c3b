import Foundation
import StratusClient
import Testing

/// A request of an app whose answer is damaged.
struct AnswerProbe: Sendable, CustomTestStringConvertible {
    /// The answer's key in ``AnswerSeeds/byPath``.
    let path: String
    var seed: String
    let name: String
    let ask: @Sendable (CKContainer, AnswerWitness) async -> Void

    init(
        _ path: String, name: String = "", seed: String? = nil,
        _ ask: @escaping @Sendable (CKContainer, AnswerWitness) async -> Void
    ) {
        self.path = path
        self.name = name
        self.seed = seed ?? AnswerSeeds.byPath[path] ?? "{}"
        self.ask = ask
    }

    var testDescription: String { "\(path) \(name)" }

    static let all: [Self] =
        records + zones + subscriptions + [
            Self("users/caller") { container, witness in
                await witness.call { try await container.userRecordID() }
                await witness.call { try await container.accountStatus() }
            },
            Self("users/discover") { container, witness in
                let people = [
                    CKUserIdentity.LookupInfo(emailAddress: "ida@example.org"),
                    CKUserIdentity.LookupInfo(userRecordID: CKRecord.ID(recordName: "_bo")),
                ]
                let operation = CKFetchShareParticipantsOperation(userIdentityLookupInfos: people)
                operation.perShareParticipantResultBlock = { witness.see($1) }
                operation.fetchShareParticipantsResultBlock = { witness.end($0) }
                await finish(operation, in: container)
                let discovery = CKDiscoverUserIdentitiesOperation(userIdentityLookupInfos: people)
                discovery.userIdentityDiscoveredBlock = { identity, _ in
                    witness.see(.success(identity))
                }
                discovery.discoverUserIdentitiesResultBlock = { witness.end($0) }
                await finish(discovery, in: container)
            },
            Self("users/permission") { container, witness in
                await witness.call {
                    try await container.applicationPermissionStatus(for: .userDiscoverability)
                }
            },
            Self("records/resolve", resolve), Self("records/accept", resolve),
            Self("records/requestaccess") { container, witness in
                let operation = CKShareRequestAccessOperation(shareURLs: links)
                operation.perShareAccessRequestResultBlock = { witness.see($1) }
                operation.shareAccessRequestResultBlock = { witness.end($0) }
                await finish(operation, in: container)
            },
            Self("tokens/create", listen), Self("tokens/register", listen),
            Self("courier", listen),
        ]

    // MARK: Records

    private static let records: [Self] = [
        Self("records/modify", modify),
        Self("records/modify", name: "atomic", seed: AnswerSeeds.failedBatch, modify),
        Self("records/modify", name: "share", seed: AnswerSeeds.modifyShare) { container, witness in
            let root = hut("a")
            let share = CKShare(rootRecord: root)
            let operation = CKModifyRecordsOperation(recordsToSave: [root, share])
            operation.perRecordSaveBlock = { witness.see($1) }
            operation.modifyRecordsResultBlock = { witness.end($0) }
            await run(operation, on: container.privateCloudDatabase)
            witness.see(.success(share))
        },
        Self("assets/upload", modify), Self("upload", modify),
        Self("records/lookup", lookup), Self("keyring", lookup),
        Self("records/query") { container, witness in
            let operation = CKQueryOperation(
                query: CKQuery(recordType: "Hut", predicate: NSPredicate(value: true)))
            operation.recordMatchedBlock = { witness.see($1) }
            operation.queryResultBlock = { witness.end($0) }
            await run(operation, on: container.privateCloudDatabase)
        },
        Self("changes/zone") { container, witness in
            let gone = CKRecordZone.ID(zoneName: "Gone")
            let operation = CKFetchRecordZoneChangesOperation(
                recordZoneIDs: [trips, gone], configurationsByRecordZoneID: [:])
            operation.recordWasChangedBlock = { witness.see($1) }
            operation.recordWithIDWasDeletedBlock = { recordID, _ in
                witness.see(.success(recordID))
            }
            operation.recordZoneFetchResultBlock = { _, result in
                witness.see(result.map(\.serverChangeToken))
            }
            operation.fetchRecordZoneChangesResultBlock = { witness.end($0) }
            await run(operation, on: container.privateCloudDatabase)
        },
    ]

    @Sendable private static func modify(_ container: CKContainer, _ witness: AnswerWitness) async {
        let first = hut("a")
        first["photo"] = CKAsset(fileURL: Self.photo)
        let operation = CKModifyRecordsOperation(
            recordsToSave: [first, hut("b")],
            recordIDsToDelete: [CKRecord.ID(recordName: "c", zoneID: trips)])
        operation.perRecordSaveBlock = { witness.see($1) }
        operation.perRecordDeleteBlock = { witness.see($1) }
        operation.modifyRecordsResultBlock = { witness.end($0) }
        await run(operation, on: container.privateCloudDatabase)
        witness.see(.success(first))
    }

    /// Any file will do, such as this source file.
    private static let photo = URL(fileURLWithPath: #filePath)

    @Sendable private static func lookup(_ container: CKContainer, _ witness: AnswerWitness) async {
        let operation = CKFetchRecordsOperation(
            recordIDs: ["a", "lost"].map { CKRecord.ID(recordName: $0, zoneID: trips) })
        operation.perRecordResultBlock = { witness.see($1) }
        operation.fetchRecordsResultBlock = { witness.end($0) }
        await run(operation, on: container.privateCloudDatabase)
    }

    // MARK: Zones and subscriptions

    private static let zones: [Self] = [
        Self("zones/modify") { container, witness in
            let operation = CKModifyRecordZonesOperation(
                recordZonesToSave: [CKRecordZone(zoneID: trips)],
                recordZoneIDsToDelete: [CKRecordZone.ID(zoneName: "Gone")])
            operation.perRecordZoneSaveBlock = { witness.see($1) }
            operation.perRecordZoneDeleteBlock = { witness.see($1) }
            operation.modifyRecordZonesResultBlock = { witness.end($0) }
            await run(operation, on: container.privateCloudDatabase)
        },
        Self("zones/lookup") { container, witness in
            let operation = CKFetchRecordZonesOperation(
                recordZoneIDs: [trips, CKRecordZone.ID(zoneName: "Gone")])
            operation.perRecordZoneResultBlock = { witness.see($1) }
            operation.fetchRecordZonesResultBlock = { witness.end($0) }
            await run(operation, on: container.privateCloudDatabase)
        },
        Self("zones/list") { container, witness in
            await witness.call { try await container.sharedCloudDatabase.allRecordZones() }
        },
        Self("changes/database") { container, witness in
            let operation = CKFetchDatabaseChangesOperation(previousServerChangeToken: nil)
            operation.recordZoneWithIDChangedBlock = { witness.see(.success($0)) }
            operation.recordZoneWithIDWasDeletedBlock = { witness.see(.success($0)) }
            operation.changeTokenUpdatedBlock = { witness.see(.success($0)) }
            operation.fetchDatabaseChangesResultBlock = {
                witness.end($0.map(\.serverChangeToken))
            }
            await run(operation, on: container.sharedCloudDatabase)
        },
    ]

    private static let subscriptions: [Self] = [
        Self("subscriptions/modify") { container, witness in
            let operation = CKModifySubscriptionsOperation(
                subscriptionsToSave: [
                    CKQuerySubscription(
                        recordType: "Hut", predicate: NSPredicate(value: true),
                        subscriptionID: "huts"),
                    CKRecordZoneSubscription(zoneID: trips, subscriptionID: "zone"),
                ], subscriptionIDsToDelete: ["nope"])
            operation.perSubscriptionSaveBlock = { witness.see($1) }
            operation.perSubscriptionDeleteBlock = { witness.see($1) }
            operation.modifySubscriptionsResultBlock = { witness.end($0) }
            await run(operation, on: container.privateCloudDatabase)
        },
        Self("subscriptions/list") { container, witness in
            await witness.call { try await container.privateCloudDatabase.allSubscriptions() }
        },
        Self("subscriptions/lookup") { container, witness in
            let operation = CKFetchSubscriptionsOperation(
                subscriptionIDs: ["huts", "zone", "nope"])
            operation.perSubscriptionResultBlock = { witness.see($1) }
            operation.fetchSubscriptionsResultBlock = { witness.end($0) }
            await run(operation, on: container.privateCloudDatabase)
        },
    ]

    // MARK: Shares and notifications

    private static let links = ["0A1s", "x"].compactMap {
        URL(string: "http://127.0.0.1:1/share/\($0)")
    }

    @Sendable private static func resolve(_ container: CKContainer, _ witness: AnswerWitness) async
    {
        let operation = CKFetchShareMetadataOperation(shareURLs: links)
        operation.shouldFetchRootRecord = true
        operation.perShareMetadataResultBlock = { witness.see($1) }
        operation.fetchShareMetadataResultBlock = { witness.end($0) }
        await finish(operation, in: container)
        let accept = CKAcceptSharesOperation(shareMetadatas: witness.metadatas)
        accept.perShareResultBlock = { witness.see($1) }
        accept.acceptSharesResultBlock = { witness.end($0) }
        await finish(accept, in: container)
    }

    @Sendable private static func listen(_ container: CKContainer, _ witness: AnswerWitness) async {
        // A listener retries until it cannot wait any more.
        let events = container.connection.remoteNotifications(
            container: "iCloud.org.example.Trails")
        var rest = 2
        for await event in events {
            if case .notification(let hint) = event {
                let notification = CKNotification(fromRemoteNotificationDictionary: hint.userInfo)
                _ = hint.userInfo as? [String: NSObject]
                _ = (notification?.notificationID, notification?.subscriptionOwnerUserRecordID)
                _ = (notification as? CKQueryNotification).map {
                    ($0.recordFields, $0.recordID, $0.queryNotificationReason, $0.databaseScope)
                }
            }
            rest -= 1
            if rest == 0 { break }
        }
        witness.end(.success(()))
    }
}

/// Runs an operation of a container to its end.
private func finish(_ operation: CKOperation, in container: CKContainer) async {
    await withCheckedContinuation { continuation in
        operation.completionBlock = { continuation.resume() }
        container.add(operation)
    }
}
