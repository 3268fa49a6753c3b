import CloudKit

// What the app checks in an error, which may be inside a partial failure.
extension CKError {
    public func isRecordNotFound() -> Bool { isZoneNotFound() || isUnknownItem() }

    /// The zone was never created, or the user removed it in the settings.
    public func isZoneNotFound() -> Bool {
        isSpecificErrorCode(code: .zoneNotFound) || isSpecificErrorCode(code: .userDeletedZone)
    }

    public func isUnknownItem() -> Bool { isSpecificErrorCode(code: .unknownItem) }

    public func isConflict() -> Bool { isSpecificErrorCode(code: .serverRecordChanged) }

    public func isChangeTokenExpired() -> Bool { isSpecificErrorCode(code: .changeTokenExpired) }

    public func isSpecificErrorCode(code: CKError.Code) -> Bool {
        if self.code == code { return true }
        return parts.contains { $0.isSpecificErrorCode(code: code) }
    }

    /// Both sides of a conflict: what was to be saved, and what the service has. Nil for any other error.
    public func getMergeRecords() -> (client: CKRecord, server: CKRecord)? {
        if code == .serverRecordChanged, let clientRecord, let serverRecord {
            return (clientRecord, serverRecord)
        }
        return parts.lazy.compactMap { $0.getMergeRecords() }.first
    }

    /// The error to show to the user: this one, or the first inside a partial failure.
    public var first: CKError { code == .partialFailure ? parts.first?.first ?? self : self }

    private var parts: [CKError] {
        guard code == .partialFailure else { return [] }
        return (partialErrorsByItemID ?? [:]).values.compactMap { $0 as? CKError }
    }
}
