import Foundation

/// Whether the device has an account.
public enum CKAccountStatus: Int, Sendable {
    /// The status is unknown; only completion handlers get it, together with the error.
    case couldNotDetermine = 0
    /// A user is signed in; the service accepts the account, or cannot be reached now.
    case available = 1
    /// The service's operator has disabled the account.
    case restricted = 2
    /// No user is signed in on this device.
    case noAccount = 3
    /// A user is signed in, but the service refuses the account: sign in again.
    case temporarilyUnavailable = 4
}

extension CKContainer {
    /// Whether private data can be reached; asks the service each time.
    ///
    /// An account that the service refuses is `temporarilyUnavailable`; one that the service's
    /// operator disabled is `restricted`. A service that cannot be reached does not change the
    /// status.
    ///
    /// - Throws: any other error; the completion handler then gets `couldNotDetermine`.
    public func accountStatus() async throws -> CKAccountStatus {
        try connection.checkConfigured()
        guard connection.hasAccount else { return .noAccount }
        do {
            _ = try await core.askedUserRecordName(pace: defaults.pace(connection.world))
            return .available
        } catch CKError.managedAccountRestricted {
            // The operator disabled the account.
            return .restricted
        } catch CKError.notAuthenticated {
            // There is an account, but its sign-in has ended.
            return .temporarilyUnavailable
        } catch CKError.accountTemporarilyUnavailable {
            // The same, without a request to the service.
            return .temporarilyUnavailable
        } catch let error as CKError where error.isTransient {
            // The service does not answer now, which says nothing about the account.
            return .available
        }
    }

    /// The identity of the user's own record, whose name is `_` and an opaque text.
    ///
    /// - Throws: `CKError.notAuthenticated` without an account.
    public func userRecordID() async throws -> CKRecord.ID {
        CKRecordID(known: try await core.userRecordName(pace: defaults.pace(connection.world)))
    }
}
