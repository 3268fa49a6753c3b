import Foundation

// Deprecated by Apple, whose current systems find no one. Stratus finds people who agreed to it
// (requestApplicationPermission), by verified e-mail address or by user record.
extension CKContainer {
    /// The people in the user's address book; always empty, because Stratus's service has no
    /// address book.
    public func allUserIdentitiesFromContacts() async throws -> [CKUserIdentity] {
        try await session.contacts()
    }

    // MARK: One

    /// Finds a person; nil when there is none who agreed to be found.
    public func userIdentity(forEmailAddress email: String) async throws -> CKUserIdentity? {
        try await identity(CKUserIdentityLookupInfo(emailAddress: email))
    }

    /// Looks a person up by phone number; always nil with Stratus's service, whose accounts have none.
    public func userIdentity(forPhoneNumber phoneNumber: String) async throws -> CKUserIdentity? {
        try await identity(CKUserIdentityLookupInfo(phoneNumber: phoneNumber))
    }

    /// Finds a person by user record; nil when there is none who agreed to be found.
    ///
    /// The user's own record is always found.
    public func userIdentity(
        forUserRecordID userRecordID: CKRecord.ID
    ) async throws -> CKUserIdentity? {
        try await identity(CKUserIdentityLookupInfo(userRecordID: userRecordID))
    }

    private func identity(_ info: CKUserIdentityLookupInfo) async throws -> CKUserIdentity? {
        let identity = try await session.identities(for: [info]).only().result.get()
        return identity.hasiCloudAccount ? identity : nil
    }

    // MARK: Several

    /// Finds people; those who are not found are left out.
    public func userIdentities(
        forEmailAddresses emails: [String]
    ) async throws -> [String: CKUserIdentity] {
        try await identities(emails) { CKUserIdentityLookupInfo(emailAddress: $0) }
    }

    /// Looks people up by phone number; always empty with Stratus's service, whose accounts have none.
    public func userIdentities(
        forPhoneNumbers phoneNumbers: [String]
    ) async throws -> [String: CKUserIdentity] {
        try await identities(phoneNumbers) { CKUserIdentityLookupInfo(phoneNumber: $0) }
    }

    /// Finds people by user record; those who are not found are left out.
    public func userIdentities(
        forUserRecordIDs userRecordIDs: [CKRecord.ID]
    ) async throws -> [CKRecord.ID: CKUserIdentity] {
        try await identities(userRecordIDs) { CKUserIdentityLookupInfo(userRecordID: $0) }
    }

    private func identities<Key: Hashable>(
        _ keys: [Key], _ info: (Key) -> CKUserIdentityLookupInfo
    ) async throws -> [Key: CKUserIdentity] {
        let found = try await session.identities(for: keys.map(info))
        var identities: [Key: CKUserIdentity] = [:]
        for (key, result) in zip(keys, found) {
            // A person whose lookup failed counts as not found.
            if let identity = result.result.success, identity.hasiCloudAccount {
                identities[key] = identity
            }
        }
        return identities
    }
}
