extension CKError {
    /// With `serverRecordChanged`: the version of the record on which the client's changes are based.
    public var ancestorRecord: CKRecord? {
        userInfo[CKRecordChangedErrorAncestorRecordKey] as? CKRecord
    }

    /// With `serverRecordChanged`: the record as the service has it.
    public var serverRecord: CKRecord? {
        userInfo[CKRecordChangedErrorServerRecordKey] as? CKRecord
    }

    /// With `serverRecordChanged`: the record that was to be saved.
    public var clientRecord: CKRecord? {
        userInfo[CKRecordChangedErrorClientRecordKey] as? CKRecord
    }
}
