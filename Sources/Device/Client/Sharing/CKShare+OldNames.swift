import Foundation

// Names of Swift 3 and 4, for code of that time.

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
