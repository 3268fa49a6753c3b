// Names of Swift 3, for code of that time. The classes bear their old names themselves: Foundation on
// Linux archives only classes that stand at top level.

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
