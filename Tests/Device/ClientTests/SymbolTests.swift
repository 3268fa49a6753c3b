import Foundation
import StratusClient
import StratusTesting
import Testing

/// Names whose values and behaviour no other suite tests: Apple's numbers, words and copies.
@Suite struct SymbolTests {
    @Test func constantsMatchCloudKit() {
        #expect(CKCurrentUserDefaultName == "__defaultOwner__")
        #expect(CKRecordZone.ID.defaultZoneName == "_defaultZone")
        #expect(CKRecord.SystemType.userRecord == "Users")
        #expect(CKRecord.SystemType.share == "cloudkit.share")
        #expect(CKRecordNameZoneWideShare == "cloudkit.zoneshare")
        #expect(CKErrorDomain == "CKErrorDomain" && CKPartialErrorsByItemIDKey == "CKPartialErrors")
        #expect(CKRecordChangedErrorAncestorRecordKey == "AncestorRecord")
        #expect(CKRecordChangedErrorServerRecordKey == "ServerRecord")
        #expect(CKRecordChangedErrorClientRecordKey == "ClientRecord")
        #expect(CKErrorRetryAfterKey == "CKRetryAfter")
        #expect(CKErrorUserDidResetEncryptedDataKey == "CKUserDidResetEncryptedData")
        #expect(Notification.Name.CKAccountChanged.rawValue == "CKAccountChangedNotification")
        #expect(CKQueryOperation.maximumResults == 0)
        #expect(CKShare.SystemFieldKey.title == "cloudkit.title")
        #expect(CKShare.SystemFieldKey.thumbnailImageData == "cloudkit.thumbnailImageData")
        #expect(CKShare.SystemFieldKey.shareType == "cloudkit.type")
    }

    @Test func defaultContainerIsNamedAfterTheProcess() {
        let name =
            ProcessInfo.processInfo.environment["STRATUS_CONTAINER"]
            ?? "iCloud." + ProcessInfo.processInfo.processName
        #expect(CKContainer.default().containerIdentifier == name)
        #expect(CKContainer.default() == CKContainer.default())
        #expect(CKContainer(identifier: "iCloud.a").containerIdentifier == "iCloud.a")
    }

    @Test func containerRunsOperationsOnItsPrivateDatabase() async throws {
        let container = try await Trip().ida
        let found = await withCheckedContinuation { continuation in
            let operation = CKFetchRecordZonesOperation(recordZoneIDs: [trips])
            operation.perRecordZoneResultBlock = { zoneID, result in
                // Only the private database has the zone.
                continuation.resume(returning: (try? result.get())?.zoneID == zoneID)
            }
            container.add(operation)
        }
        #expect(found)
    }

    @Test func systemFieldKeysMatchCloudKit() {
        let keys: [CKRecord.FieldKey] = [
            CKRecord.SystemFieldKey.recordID, CKRecord.SystemFieldKey.creationDate,
            CKRecord.SystemFieldKey.modificationDate, CKRecord.SystemFieldKey.creatorUserRecordID,
            CKRecord.SystemFieldKey.lastModifiedUserRecordID, CKRecord.SystemFieldKey.parent,
            CKRecord.SystemFieldKey.share,
        ]
        #expect(
            keys == [
                "___recordID", "___createTime", "___modTime", "___createdBy", "___modifiedBy",
                "___parent", "___share",
            ])
        let type: CKRecord.RecordType = "Hut"
        #expect(CKRecord(recordType: type).recordType == "Hut")
    }

    @Test func enumerationRawValuesMatchCloudKit() {
        let accounts = [
            CKAccountStatus.couldNotDetermine, .available, .restricted, .noAccount,
            .temporarilyUnavailable,
        ]
        #expect(accounts.map(\.rawValue) == [0, 1, 2, 3, 4])
        let permissions = [
            CKContainer.ApplicationPermissionStatus.initialState, .couldNotComplete, .denied,
            .granted,
        ]
        #expect(permissions.map(\.rawValue) == [0, 1, 2, 3])
        #expect(CKContainer.ApplicationPermissions.userDiscoverability.rawValue == 1)
        #expect([CKDatabase.Scope.public, .private, .shared].map(\.rawValue) == [1, 2, 3])
        #expect([CKRecord.ReferenceAction.none, .deleteSelf].map(\.rawValue) == [0, 1])
        let policies = [
            CKModifyRecordsOperation.RecordSavePolicy.ifServerRecordUnchanged, .changedKeys,
            .allKeys,
        ]
        #expect(policies.map(\.rawValue) == [0, 1, 2])
        let sizes = [
            CKOperationGroup.TransferSize.unknown, .kilobytes, .megabytes, .tensOfMegabytes,
            .hundredsOfMegabytes, .gigabytes, .tensOfGigabytes, .hundredsOfGigabytes,
        ]
        #expect(sizes.map(\.rawValue) == Array(0...7))
        let capabilities = [
            CKRecordZone.Capabilities.fetchChanges, .atomic, .sharing, .zoneWideSharing,
        ]
        #expect(capabilities.map(\.rawValue) == [1, 2, 4, 8])
    }

    @Test func subscriptionAndShareRawValuesMatchCloudKit() {
        let types = [CKSubscription.SubscriptionType.query, .recordZone, .database]
        #expect(types.map(\.rawValue) == [1, 2, 3])
        let options = [
            CKQuerySubscription.Options.firesOnRecordCreation, .firesOnRecordUpdate,
            .firesOnRecordDeletion, .firesOnce,
        ]
        #expect(options.map(\.rawValue) == [1, 2, 4, 8])
        let notifications = [
            CKNotification.NotificationType.query, .recordZone, .readNotification, .database,
        ]
        #expect(notifications.map(\.rawValue) == [1, 2, 3, 4])
        let reasons = [
            CKQueryNotification.Reason.recordCreated, .recordUpdated, .recordDeleted,
        ]
        #expect(reasons.map(\.rawValue) == [1, 2, 3])
        let acceptances = [
            CKShare.ParticipantAcceptanceStatus.unknown, .pending, .accepted, .removed,
        ]
        #expect(acceptances.map(\.rawValue) == [0, 1, 2, 3])
        let permissions = [CKShare.ParticipantPermission.unknown, .none, .readOnly, .readWrite]
        #expect(permissions.map(\.rawValue) == [0, 1, 2, 3])
        let roles = [
            CKShare.ParticipantRole.unknown, .owner, .administrator, .privateUser, .publicUser,
        ]
        #expect(roles.map(\.rawValue) == [0, 1, 2, 3, 4])
    }

    @Test func everyNumberTypeReadsBack() {
        let record = CKRecord(recordType: "Hut")
        record["a"] = UInt(1)
        record["b"] = Int8(-2)
        record["c"] = Int16(-3)
        record["d"] = Int32(-4)
        record["e"] = UInt16(5)
        record["f"] = UInt32(6)
        record["g"] = NSDate(timeIntervalSince1970: 7)
        record["h"] = Array(1...3)
        #expect(record["a"] as? UInt == 1 && record["b"] as? Int8 == -2)
        #expect(record["c"] as? Int16 == -3 && record["d"] as? Int32 == -4)
        #expect(record["e"] as? UInt16 == 5 && record["f"] as? UInt32 == 6)
        #expect(record["g"] as? Date == Date(timeIntervalSince1970: 7))
        #expect(record["h"] as? [Int] == [1, 2, 3])
        #expect(record.object(forKey: "d") as? NSNumber == -4)
        record.setObject("gone" as NSString, forKey: "i")
        #expect(record.object(forKey: "i") as? String == "gone")
        record.setObject(nil, forKey: "i")
        let setting: any CKRecordKeyValueSetting = record
        #expect(setting.allKeys().sorted() == ["a", "b", "c", "d", "e", "f", "g", "h"])
        var iterator: CKRecordKeyValueIterator = record.makeIterator()
        var values: [String: any CKRecordValueProtocol] = [:]
        while let (key, value) = iterator.next() { values[key] = value }
        #expect(values.count == 8 && values["b"] as? Int == -2)
    }

    @Test func referenceTakesIDOfRecord() {
        let record = hut("a")
        let reference = CKRecord.Reference(record: record, action: .deleteSelf)
        #expect(reference.recordID == record.recordID && reference.action == .deleteSelf)
        #expect(CKRecord.supportsSecureCoding && CKShare.supportsSecureCoding)
    }

    @Test func databaseIsFoundByScope() async throws {
        let container = try await TestCloud().container(
            Trip.identifier, user: "ida@example.org", device: "phone")
        #expect(container.containerIdentifier == Trip.identifier)
        #expect(container.database(with: .private) === container.privateCloudDatabase)
        #expect(container.database(with: .public) === container.publicCloudDatabase)
        #expect(container.database(with: .shared) === container.sharedCloudDatabase)
    }

    @Test func locationKeepsCoordinate() {
        let coordinate = CLLocationCoordinate2D(latitude: 47, longitude: 11)
        let place = CLLocation(latitude: coordinate.latitude, longitude: coordinate.longitude)
        #expect(place.coordinate.latitude == 47 && place.coordinate.longitude == 11)
        let distance: CLLocationDistance = place.distance(
            from: CLLocation(latitude: 47.001, longitude: 11))
        #expect(abs(distance - 111) < 1)
    }

    @Test func errorExposesCodeDomainAndRetryAfter() {
        let error = CKError(.zoneBusy, userInfo: [CKErrorRetryAfterKey: 3.0])
        #expect(error.errorCode == 23 && error.code == .zoneBusy)
        #expect(CKError.errorDomain == CKErrorDomain)
        #expect(error.errorUserInfo[CKErrorRetryAfterKey] as? Double == 3)
        #expect(error.retryAfterSeconds == 3)
    }

    @Test func lookupInfoHoldsOneIdentifier() {
        let recordID = CKRecord.ID(recordName: "_ida")
        let byPhone = CKUserIdentity.LookupInfo(phoneNumber: "+43 1")
        let byRecord = CKUserIdentity.LookupInfo(userRecordID: recordID)
        #expect(byPhone.phoneNumber == "+43 1" && byPhone.emailAddress == nil)
        #expect(byRecord.userRecordID == recordID && byRecord.phoneNumber == nil)
        let discovering = CKDiscoverUserIdentitiesOperation(userIdentityLookupInfos: [byPhone])
        #expect(discovering.userIdentityLookupInfos == [byPhone])
        let inviting = CKFetchShareParticipantsOperation(userIdentityLookupInfos: [byRecord])
        #expect(inviting.userIdentityLookupInfos == [byRecord])
    }
}
