import Foundation
import StratusClient
import Testing

/// Names of Swift 3 and 4, each with its replacement. They are deprecated; the requirement of a protocol keeps the
/// warnings out of this build.
private protocol OldNames {
    func types() -> [(any Any.Type, any Any.Type)]
    func constants() -> [(String, String)]
    func forms() -> [Bool]
    func readFromNSData(_ data: NSData) -> CKRecord.ID?
    func zones(_ log: Log) -> CKFetchRecordZonesOperation
    func saving(_ log: Log) -> CKModifySubscriptionsOperation
    func subscriptions(_ log: Log) -> CKFetchSubscriptionsOperation
}

private struct OldNamesInUse: OldNames {
    @available(*, deprecated)
    func types() -> [(any Any.Type, any Any.Type)] {
        [
            (CKFetchRecordZoneChangesConfiguration.self, Configuration.self),
            (CKFetchRecordZoneChangesOptions.self, Configuration.self),
            (CKFetchRecordZoneChangesOperation.ZoneOptions.self, Configuration.self),
            (CKRecordZoneCapabilities.self, CKRecordZone.Capabilities.self),
            (CKSubscriptionType.self, CKSubscription.SubscriptionType.self),
            (CKNotificationType.self, CKNotification.NotificationType.self),
            (CKNotificationID.self, CKNotification.ID.self),
            (CKQueryNotificationReason.self, CKQueryNotification.Reason.self),
            (CKOperationGroupTransferSize.self, CKOperationGroup.TransferSize.self),
            (CKRecord.Reference.Action.self, CKRecord.ReferenceAction.self),
            (CKRecord_Reference_Action.self, CKRecord.ReferenceAction.self),
            (CKShareParticipantAcceptanceStatus.self, CKShare.ParticipantAcceptanceStatus.self),
            (CKShareParticipantPermission.self, CKShare.ParticipantPermission.self),
            (CKShareParticipantRole.self, CKShare.ParticipantRole.self),
            (CKShareParticipantType.self, CKShare.ParticipantType.self),
            (CKShare.Participant.AcceptanceStatus.self, CKShare.ParticipantAcceptanceStatus.self),
            (CKShare.Participant.Permission.self, CKShare.ParticipantPermission.self),
            (CKShare.Participant.Role.self, CKShare.ParticipantRole.self),
            (CKShare.Participant.ParticipantType.self, CKShare.ParticipantType.self),
            (CKShare_Participant_AcceptanceStatus.self, CKShare.ParticipantAcceptanceStatus.self),
            (CKShare_Participant_Permission.self, CKShare.ParticipantPermission.self),
            (CKShare_Participant_Role.self, CKShare.ParticipantRole.self),
            (CKShare_Participant_ParticipantType.self, CKShare.ParticipantType.self),
            (CKApplicationPermissions.self, Permissions.self),
            (CKContainer.Application.Permissions.self, Permissions.self),
            (CKContainer_Application_Permissions.self, Permissions.self),
            (CKApplicationPermissionStatus.self, PermissionStatus.self),
            (CKContainer.Application.PermissionStatus.self, PermissionStatus.self),
            (CKContainer_Application_PermissionStatus.self, PermissionStatus.self),
            (CKApplicationPermissionBlock.self, PermissionBlock.self),
            (CKContainer.Application.PermissionBlock.self, PermissionBlock.self),
            (CKContainer_Application_PermissionBlock.self, PermissionBlock.self),
        ]
    }

    private typealias Configuration = CKFetchRecordZoneChangesOperation.ZoneConfiguration
    private typealias Permissions = CKContainer.ApplicationPermissions
    private typealias PermissionStatus = CKContainer.ApplicationPermissionStatus
    private typealias PermissionBlock = CKContainer.ApplicationPermissionBlock

    @available(*, deprecated)
    func constants() -> [(String, String)] {
        [
            (CKRecordParentKey, "___parent"), (CKRecordShareKey, "___share"),
            (CKRecordTypeShare, "cloudkit.share"), (CKShareTitleKey, "cloudkit.title"),
            (CKShareThumbnailImageDataKey, "cloudkit.thumbnailImageData"),
            (CKShareTypeKey, "cloudkit.type"), (CKOwnerDefaultName, "__defaultOwner__"),
        ]
    }

    @available(*, deprecated)
    func forms() -> [Bool] {
        let types = [CKShare.ParticipantType.unknown, .owner, .privateUser, .publicUser]
        let options = CKFetchRecordZoneChangesOperation.ZoneOptions()
        options.desiredKeys = ["name"]
        let operation = CKFetchRecordZoneChangesOperation(
            recordZoneIDs: [trips], optionsByRecordZoneID: [trips: options])
        let subscription = CKQuerySubscription(
            recordType: "Hut", predicate: NSPredicate(value: true), options: .firesOnRecordUpdate)
        let reference = CKReference(recordID: hut("a").recordID, action: .deleteSelf)
        return [
            types.map(\.rawValue) == [0, 1, 3, 4],
            operation.optionsByRecordZoneID?[trips]?.desiredKeys == ["name"],
            subscription.querySubscriptionOptions == .firesOnRecordUpdate,
            reference.referenceAction == .deleteSelf,
        ]
    }

    @available(*, deprecated)
    func readFromNSData(_ data: NSData) -> CKRecord.ID? {
        let coder = NSKeyedUnarchiver(forReadingWith: data)
        return coder.decodeObject(of: CKRecord.ID.self, forKey: NSKeyedArchiveRootObjectKey)
    }

    @available(*, deprecated)
    func zones(_ log: Log) -> CKFetchRecordZonesOperation {
        let operation = CKFetchRecordZonesOperation(recordZoneIDs: [trips])
        operation.fetchRecordZonesCompletionBlock = { zones, error in
            log.add("\(zones?[trips]?.zoneID.zoneName ?? "none") \(error == nil)")
        }
        return operation
    }

    @available(*, deprecated)
    func saving(_ log: Log) -> CKModifySubscriptionsOperation {
        let operation = CKModifySubscriptionsOperation(
            subscriptionsToSave: [CKDatabaseSubscription(subscriptionID: "all")],
            subscriptionIDsToDelete: nil)
        operation.modifySubscriptionsCompletionBlock = { saved, _, error in
            log.add("\(saved?.map(\.subscriptionID) ?? []) \(error == nil)")
        }
        return operation
    }

    @available(*, deprecated)
    func subscriptions(_ log: Log) -> CKFetchSubscriptionsOperation {
        let operation = CKFetchSubscriptionsOperation(subscriptionIDs: ["all"])
        operation.fetchSubscriptionCompletionBlock = { subscriptions, error in
            log.add("\(subscriptions?["all"] is CKDatabaseSubscription) \(error == nil)")
        }
        return operation
    }
}

@Suite struct DeprecatedSymbolTests {
    private var old: any OldNames { OldNamesInUse() }

    @Test func deprecatedTypesAliasCurrentTypes() {
        for (index, pair) in old.types().enumerated() {
            let (name, successor) = (ObjectIdentifier(pair.0), ObjectIdentifier(pair.1))
            #expect(name == successor, "of the list: number \(index + 1)")
        }
    }

    @Test func deprecatedConstantsKeepValues() {
        for (constant, value) in old.constants() { #expect(constant == value) }
    }

    @Test func deprecatedFormsBehaveTheSame() {
        #expect(old.forms() == [true, true, true, true])
    }

    @Test func unarchiverReadsNSData() throws {
        let archive = try NSKeyedArchiver.archivedData(
            withRootObject: hut("a").recordID, requiringSecureCoding: true)
        #expect(old.readFromNSData(archive as NSData) == hut("a").recordID)
    }

    @Test func deprecatedZoneAndSubscriptionBlocksAreCalled() async throws {
        let database = try await Trip().ida.privateCloudDatabase
        let log = Log()
        await run(old.zones(log), on: database)
        await run(old.saving(log), on: database)
        await run(old.subscriptions(log), on: database)
        #expect(log.all == ["Trips true", "[\"all\"] true", "true true"])
    }
}
