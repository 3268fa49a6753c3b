import Foundation

// Names of Swift 3, for code of that time. The classes themselves are declared under their old
// names, because Foundation on Linux archives only top-level classes.

@available(*, deprecated, renamed: "CKRecord.ReferenceAction")
public typealias CKReferenceAction = CKRecord.ReferenceAction
@available(*, deprecated, renamed: "CKRecord.ReferenceAction")
public typealias CKRecord_Reference_Action = CKRecord.ReferenceAction
@available(*, deprecated, renamed: "CKError.Code")
public typealias CKErrorCode = CKError.Code
@available(*, deprecated, renamed: "CKRecord.SystemType.userRecord")
public let CKRecordTypeUserRecord = CKRecord.SystemType.userRecord
@available(*, deprecated, renamed: "CKRecord.SystemFieldKey.parent")
public let CKRecordParentKey = CKRecord.SystemFieldKey.parent
@available(*, deprecated, renamed: "CKRecord.SystemFieldKey.share")
public let CKRecordShareKey = CKRecord.SystemFieldKey.share

extension CKReference {
    @available(*, deprecated, renamed: "CKRecord.ReferenceAction")
    public typealias Action = CKRecord.ReferenceAction
}

// MARK: Sharing, of Swift 3 and 4

@available(*, deprecated, renamed: "CKShare.ParticipantAcceptanceStatus")
public typealias CKShareParticipantAcceptanceStatus = CKShare.ParticipantAcceptanceStatus
@available(*, deprecated, renamed: "CKShare.ParticipantPermission")
public typealias CKShareParticipantPermission = CKShare.ParticipantPermission
@available(*, deprecated, renamed: "CKShare.ParticipantRole")
public typealias CKShareParticipantRole = CKShare.ParticipantRole
@available(*, deprecated, renamed: "CKShare.ParticipantType")
public typealias CKShareParticipantType = CKShare.ParticipantType
@available(*, deprecated, renamed: "CKShare.ParticipantAcceptanceStatus")
public typealias CKShare_Participant_AcceptanceStatus = CKShare.ParticipantAcceptanceStatus
@available(*, deprecated, renamed: "CKShare.ParticipantPermission")
public typealias CKShare_Participant_Permission = CKShare.ParticipantPermission
@available(*, deprecated, renamed: "CKShare.ParticipantRole")
public typealias CKShare_Participant_Role = CKShare.ParticipantRole
@available(*, deprecated, renamed: "CKShare.ParticipantType")
public typealias CKShare_Participant_ParticipantType = CKShare.ParticipantType
@available(*, deprecated, renamed: "CKRecord.SystemType.share")
public let CKRecordTypeShare = CKRecord.SystemType.share
@available(*, deprecated, renamed: "CKShare.SystemFieldKey.title")
public let CKShareTitleKey = CKShare.SystemFieldKey.title
@available(*, deprecated, renamed: "CKShare.SystemFieldKey.thumbnailImageData")
public let CKShareThumbnailImageDataKey = CKShare.SystemFieldKey.thumbnailImageData
@available(*, deprecated, renamed: "CKShare.SystemFieldKey.shareType")
public let CKShareTypeKey = CKShare.SystemFieldKey.shareType

extension CKShareParticipant {
    @available(*, deprecated, renamed: "CKShare.ParticipantAcceptanceStatus")
    public typealias AcceptanceStatus = CKShare.ParticipantAcceptanceStatus
    @available(*, deprecated, renamed: "CKShare.ParticipantPermission")
    public typealias Permission = CKShare.ParticipantPermission
    @available(*, deprecated, renamed: "CKShare.ParticipantRole")
    public typealias Role = CKShare.ParticipantRole
    @available(*, deprecated, renamed: "CKShare.ParticipantType")
    public typealias ParticipantType = CKShare.ParticipantType
}

extension CKShare {
    @available(*, deprecated, renamed: "init(rootRecord:shareID:)")
    public convenience init(rootRecord: CKRecord, share shareID: CKRecord.ID) {
        self.init(rootRecord: rootRecord, shareID: shareID)
    }
}

extension CKFetchShareMetadataOperation {
    @available(*, deprecated, renamed: "init(shareURLs:)")
    public convenience init(share shareURLs: [URL]) {
        self.init(shareURLs: shareURLs)
    }
}

extension CKContainer {
    /// A namespace for older names.
    @available(*, deprecated, message: "Use CKContainer.ApplicationPermissions and its like.")
    public enum Application {
        public typealias Permissions = CKContainer.ApplicationPermissions
        public typealias PermissionStatus = CKContainer.ApplicationPermissionStatus
        public typealias PermissionBlock = CKContainer.ApplicationPermissionBlock
    }
}

@available(*, deprecated, renamed: "CKContainer.ApplicationPermissions")
public typealias CKApplicationPermissions = CKContainer.ApplicationPermissions
@available(*, deprecated, renamed: "CKContainer.ApplicationPermissionStatus")
public typealias CKApplicationPermissionStatus = CKContainer.ApplicationPermissionStatus
@available(*, deprecated, renamed: "CKContainer.ApplicationPermissionBlock")
public typealias CKApplicationPermissionBlock = CKContainer.ApplicationPermissionBlock
@available(*, deprecated, renamed: "CKContainer.ApplicationPermissions")
public typealias CKContainer_Application_Permissions = CKContainer.ApplicationPermissions
@available(*, deprecated, renamed: "CKContainer.ApplicationPermissionStatus")
public typealias CKContainer_Application_PermissionStatus = CKContainer.ApplicationPermissionStatus
@available(*, deprecated, renamed: "CKContainer.ApplicationPermissionBlock")
public typealias CKContainer_Application_PermissionBlock = CKContainer.ApplicationPermissionBlock

// MARK: Swift 3's closures

// In Swift 3 a closure with one parameter could stand for one with several, and some code relies on
// it.

/// An operation that also accepts a block for deleted records without the record type.
public protocol DeletedRecordBlockTaking: AnyObject {
    /// Sets the block that is called for each deleted record.
    func takeDeletedRecordBlock(_ block: ((CKRecord.ID) -> Void)?)
}

extension DeletedRecordBlockTaking {
    /// The block for deleted records as code of Swift 3 wrote it; reads as nil.
    @available(*, deprecated, message: "Take the record type as a second argument.")
    public var recordWithIDWasDeletedBlock: ((CKRecord.ID) -> Void)? {
        get { nil }
        set { takeDeletedRecordBlock(newValue) }
    }
}

extension CKFetchRecordZoneChangesOperation: DeletedRecordBlockTaking {
    public func takeDeletedRecordBlock(_ block: ((CKRecord.ID) -> Void)?) {
        recordWithIDWasDeletedBlock = block.map { block in { recordID, _ in block(recordID) } }
    }
}

// MARK: Data of Foundation

extension NSKeyedUnarchiver {
    /// Reads an archive from an `NSMutableData`, as Apple's page "Maintaining a Local Cache of
    /// CloudKit Records" does.
    @available(*, deprecated, message: "Use init(forReadingFrom:).")
    public convenience init(forReadingWith data: NSData) {
        self.init(forReadingWith: data as Data)
    }
}

// MARK: Results that were not optional

/// `CKNotification(fromRemoteNotificationDictionary:)` could not fail in Swift 3.
extension Optional where Wrapped == CKNotification {
    @available(*, deprecated, message: "Unwrap the notification: there may be none.")
    public var subscriptionID: CKSubscription.ID? { self?.subscriptionID }

    @available(*, deprecated, message: "Unwrap the notification: there may be none.")
    public var notificationType: CKNotification.NotificationType? { self?.notificationType }
}
