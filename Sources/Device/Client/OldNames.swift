import Foundation

// Names of Swift 3, for code from that time. The classes themselves are declared under their old names, because
// Foundation on Linux archives only top-level classes.

/// The name of `CKRecord.ReferenceAction` in Swift 3.
@available(*, deprecated, renamed: "CKRecord.ReferenceAction")
public typealias CKReferenceAction = CKRecord.ReferenceAction
/// The flat alias of `CKRecord.ReferenceAction` that Apple's SDK keeps as deprecated.
@available(*, deprecated, renamed: "CKRecord.ReferenceAction")
public typealias CKRecord_Reference_Action = CKRecord.ReferenceAction
/// The name of `CKError.Code` in Swift 3.
@available(*, deprecated, renamed: "CKError.Code")
public typealias CKErrorCode = CKError.Code
/// The record type of users, `Users`, by its name in Swift 3.
@available(*, deprecated, renamed: "CKRecord.SystemType.userRecord")
public let CKRecordTypeUserRecord = CKRecord.SystemType.userRecord
/// The key of a record's parent, `___parent`, by its name in Swift 3.
@available(*, deprecated, renamed: "CKRecord.SystemFieldKey.parent")
public let CKRecordParentKey = CKRecord.SystemFieldKey.parent
/// The key of a record's share, `___share`, by its name in Swift 3.
@available(*, deprecated, renamed: "CKRecord.SystemFieldKey.share")
public let CKRecordShareKey = CKRecord.SystemFieldKey.share

extension CKReference {
    /// The nested alias of `CKRecord.ReferenceAction` that Apple's SDK keeps as deprecated.
    @available(*, deprecated, renamed: "CKRecord.ReferenceAction")
    public typealias Action = CKRecord.ReferenceAction
}

// MARK: Sharing, of Swift 3 and 4

/// The name of `CKShare.ParticipantAcceptanceStatus` in Swift 3.
@available(*, deprecated, renamed: "CKShare.ParticipantAcceptanceStatus")
public typealias CKShareParticipantAcceptanceStatus = CKShare.ParticipantAcceptanceStatus
/// The name of `CKShare.ParticipantPermission` in Swift 3.
@available(*, deprecated, renamed: "CKShare.ParticipantPermission")
public typealias CKShareParticipantPermission = CKShare.ParticipantPermission
/// The name of `CKShare.ParticipantRole` in Swift 3.
@available(*, deprecated, renamed: "CKShare.ParticipantRole")
public typealias CKShareParticipantRole = CKShare.ParticipantRole
/// The name of `CKShare.ParticipantType` in Swift 3.
@available(*, deprecated, renamed: "CKShare.ParticipantType")
public typealias CKShareParticipantType = CKShare.ParticipantType
/// The flat alias of `CKShare.ParticipantAcceptanceStatus` that Apple's SDK keeps as deprecated.
@available(*, deprecated, renamed: "CKShare.ParticipantAcceptanceStatus")
public typealias CKShare_Participant_AcceptanceStatus = CKShare.ParticipantAcceptanceStatus
/// The flat alias of `CKShare.ParticipantPermission` that Apple's SDK keeps as deprecated.
@available(*, deprecated, renamed: "CKShare.ParticipantPermission")
public typealias CKShare_Participant_Permission = CKShare.ParticipantPermission
/// The flat alias of `CKShare.ParticipantRole` that Apple's SDK keeps as deprecated.
@available(*, deprecated, renamed: "CKShare.ParticipantRole")
public typealias CKShare_Participant_Role = CKShare.ParticipantRole
/// The flat alias of `CKShare.ParticipantType` that Apple's SDK keeps as deprecated.
@available(*, deprecated, renamed: "CKShare.ParticipantType")
public typealias CKShare_Participant_ParticipantType = CKShare.ParticipantType
/// The record type of shares, `cloudkit.share`, by its name in Swift 3.
@available(*, deprecated, renamed: "CKRecord.SystemType.share")
public let CKRecordTypeShare = CKRecord.SystemType.share
/// The key of a share's title, `cloudkit.title`, by its name in Swift 3.
@available(*, deprecated, renamed: "CKShare.SystemFieldKey.title")
public let CKShareTitleKey = CKShare.SystemFieldKey.title
/// The key of a share's thumbnail, `cloudkit.thumbnailImageData`, by its name in Swift 3.
@available(*, deprecated, renamed: "CKShare.SystemFieldKey.thumbnailImageData")
public let CKShareThumbnailImageDataKey = CKShare.SystemFieldKey.thumbnailImageData
/// The key of the type of a shared item, `cloudkit.type`, by its name in Swift 3.
@available(*, deprecated, renamed: "CKShare.SystemFieldKey.shareType")
public let CKShareTypeKey = CKShare.SystemFieldKey.shareType

extension CKShareParticipant {
    /// The nested alias of `CKShare.ParticipantAcceptanceStatus` that Apple's SDK keeps as deprecated.
    @available(*, deprecated, renamed: "CKShare.ParticipantAcceptanceStatus")
    public typealias AcceptanceStatus = CKShare.ParticipantAcceptanceStatus
    /// The nested alias of `CKShare.ParticipantPermission` that Apple's SDK keeps as deprecated.
    @available(*, deprecated, renamed: "CKShare.ParticipantPermission")
    public typealias Permission = CKShare.ParticipantPermission
    /// The nested alias of `CKShare.ParticipantRole` that Apple's SDK keeps as deprecated.
    @available(*, deprecated, renamed: "CKShare.ParticipantRole")
    public typealias Role = CKShare.ParticipantRole
    /// The nested alias of `CKShare.ParticipantType` that Apple's SDK keeps as deprecated.
    @available(*, deprecated, renamed: "CKShare.ParticipantType")
    public typealias ParticipantType = CKShare.ParticipantType
}

extension CKShare {
    /// Shares a record and its descendants: `init(rootRecord:shareID:)` as code of Swift 3 wrote it.
    ///
    /// - Parameter shareID: must be in the zone of the root record, or saving fails.
    @available(*, deprecated, renamed: "init(rootRecord:shareID:)")
    public convenience init(rootRecord: CKRecord, share shareID: CKRecord.ID) {
        self.init(rootRecord: rootRecord, shareID: shareID)
    }
}

extension CKFetchShareMetadataOperation {
    /// Makes an operation for links: `init(shareURLs:)` as code of Swift 3 wrote it.
    @available(*, deprecated, renamed: "init(shareURLs:)")
    public convenience init(share shareURLs: [URL]) {
        self.init(shareURLs: shareURLs)
    }
}

extension CKContainer {
    /// A namespace for older names.
    @available(*, deprecated, message: "Use CKContainer.ApplicationPermissions and its like.")
    public enum Application {
        /// The nested alias of `CKContainer.ApplicationPermissions` that Apple's SDK keeps as deprecated.
        public typealias Permissions = CKContainer.ApplicationPermissions
        /// The nested alias of `CKContainer.ApplicationPermissionStatus` that Apple's SDK keeps as deprecated.
        public typealias PermissionStatus = CKContainer.ApplicationPermissionStatus
        /// The nested alias of `CKContainer.ApplicationPermissionBlock` that Apple's SDK keeps as deprecated.
        public typealias PermissionBlock = CKContainer.ApplicationPermissionBlock
    }
}

/// The name of `CKContainer.ApplicationPermissions` in Swift 3.
@available(*, deprecated, renamed: "CKContainer.ApplicationPermissions")
public typealias CKApplicationPermissions = CKContainer.ApplicationPermissions
/// The name of `CKContainer.ApplicationPermissionStatus` in Swift 3.
@available(*, deprecated, renamed: "CKContainer.ApplicationPermissionStatus")
public typealias CKApplicationPermissionStatus = CKContainer.ApplicationPermissionStatus
/// The name of `CKContainer.ApplicationPermissionBlock` in Swift 3.
@available(*, deprecated, renamed: "CKContainer.ApplicationPermissionBlock")
public typealias CKApplicationPermissionBlock = CKContainer.ApplicationPermissionBlock
/// The flat alias of `CKContainer.ApplicationPermissions` that Apple's SDK keeps as deprecated.
@available(*, deprecated, renamed: "CKContainer.ApplicationPermissions")
public typealias CKContainer_Application_Permissions = CKContainer.ApplicationPermissions
/// The flat alias of `CKContainer.ApplicationPermissionStatus` that Apple's SDK keeps as deprecated.
@available(*, deprecated, renamed: "CKContainer.ApplicationPermissionStatus")
public typealias CKContainer_Application_PermissionStatus = CKContainer.ApplicationPermissionStatus
/// The flat alias of `CKContainer.ApplicationPermissionBlock` that Apple's SDK keeps as deprecated.
@available(*, deprecated, renamed: "CKContainer.ApplicationPermissionBlock")
public typealias CKContainer_Application_PermissionBlock = CKContainer.ApplicationPermissionBlock

// MARK: Swift 3's closures

// In Swift 3 a closure with one parameter could be passed in place of one with several, and some code relies on it.

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
    /// The notification's subscription, for code that does not unwrap it; nil without a notification.
    @available(*, deprecated, message: "Unwrap the notification: there may be none.")
    public var subscriptionID: CKSubscription.ID? { self?.subscriptionID }

    /// The notification's kind, for code that does not unwrap it; nil without a notification.
    @available(*, deprecated, message: "Unwrap the notification: there may be none.")
    public var notificationType: CKNotification.NotificationType? { self?.notificationType }
}
