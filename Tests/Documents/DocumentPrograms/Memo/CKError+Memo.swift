import CloudKit

// What the memo reads from an error, whether it is alone or inside a partial failure.
extension CKError {
    public func isMissing() -> Bool {
        return isZoneMissing() || isItemMissing()
    }

    public func isZoneMissing() -> Bool {
        return has(code: .zoneNotFound)
    }

    public func isItemMissing() -> Bool {
        return has(code: .unknownItem)
    }

    public func isOverrun() -> Bool {
        return has(code: .serverRecordChanged)
    }

    public func has(code: CKError.Code) -> Bool {
        var found = false
        if self.code == code {
            found = true
        } else if self.code == .partialFailure {
            guard let errors = partialErrorsByItemID else {
                return false
            }
            for (_, error) in errors {
                if let cloudError = error as? CKError {
                    if cloudError.code == code {
                        found = true
                        break
                    }
                }
            }
        }
        return found
    }

    /// Both sides of a conflict, ours first.
    public func bothSides() -> (CKRecord?, CKRecord?) {
        if code == .serverRecordChanged {
            return (clientRecord, serverRecord)
        }
        guard code == .partialFailure else {
            return (nil, nil)
        }
        guard let errors = partialErrorsByItemID else {
            return (nil, nil)
        }
        for (_, error) in errors {
            if let cloudError = error as? CKError {
                if cloudError.code == .serverRecordChanged {
                    return cloudError.bothSides()
                }
            }
        }
        return (nil, nil)
    }
}
