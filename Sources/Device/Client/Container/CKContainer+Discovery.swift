import Foundation

// Deprecated by Apple, whose current systems find nobody. Stratus finds people who agreed to it
// (requestApplicationPermission), by verified e-mail address or by user record.
extension CKContainer {
    /// The people in the user's address book; always empty, because Stratus's service has no
    /// address book.
    public func allUserIdentitiesFromContacts() async throws -> [CKUserIdentity] {
        try await session.contacts()
    }

    @preconcurrency
    public func discoverAllIdentities(
        completionHandler: @escaping @Sendable ([CKUserIdentity]?, (any Error)?) -> Void
    ) {
        core.call({ try await self.allUserIdentitiesFromContacts() }) {
            $0.hand(to: completionHandler)
        }
    }

    // MARK: One

    /// Finds a person; nil when there is none who agreed to be found.
    public func userIdentity(forEmailAddress email: String) async throws -> CKUserIdentity? {
        try await identity(CKUserIdentityLookupInfo(emailAddress: email))
    }

    public func userIdentity(forPhoneNumber phoneNumber: String) async throws -> CKUserIdentity? {
        try await identity(CKUserIdentityLookupInfo(phoneNumber: phoneNumber))
    }

    public func userIdentity(
        forUserRecordID userRecordID: CKRecord.ID
    ) async throws -> CKUserIdentity? {
        try await identity(CKUserIdentityLookupInfo(userRecordID: userRecordID))
    }

    @preconcurrency
    public func discoverUserIdentity(
        withEmailAddress email: String,
        completionHandler: @escaping @Sendable (CKUserIdentity?, (any Error)?) -> Void
    ) {
        discover(CKUserIdentityLookupInfo(emailAddress: email), completionHandler)
    }

    @preconcurrency
    public func discoverUserIdentity(
        withPhoneNumber phoneNumber: String,
        completionHandler: @escaping @Sendable (CKUserIdentity?, (any Error)?) -> Void
    ) {
        discover(CKUserIdentityLookupInfo(phoneNumber: phoneNumber), completionHandler)
    }

    @preconcurrency
    public func discoverUserIdentity(
        withUserRecordID userRecordID: CKRecord.ID,
        completionHandler: @escaping @Sendable (CKUserIdentity?, (any Error)?) -> Void
    ) {
        discover(CKUserIdentityLookupInfo(userRecordID: userRecordID), completionHandler)
    }

    private func identity(_ info: CKUserIdentityLookupInfo) async throws -> CKUserIdentity? {
        let identity = try await session.identities(for: [info]).only().result.get()
        return identity.hasiCloudAccount ? identity : nil
    }

    private func discover(
        _ info: CKUserIdentityLookupInfo,
        _ completionHandler: @escaping @Sendable (CKUserIdentity?, (any Error)?) -> Void
    ) {
        core.call({ try await self.identity(info) }) { result in
            switch result {
            case .success(let identity): completionHandler(identity, nil)
            case .failure(let error): completionHandler(nil, error)
            }
        }
    }

    // MARK: Several

    /// Finds people; those who are not found are left out.
    public func userIdentities(
        forEmailAddresses emails: [String]
    ) async throws -> [String: CKUserIdentity] {
        try await identities(emails) { CKUserIdentityLookupInfo(emailAddress: $0) }
    }

    public func userIdentities(
        forPhoneNumbers phoneNumbers: [String]
    ) async throws -> [String: CKUserIdentity] {
        try await identities(phoneNumbers) { CKUserIdentityLookupInfo(phoneNumber: $0) }
    }

    public func userIdentities(
        forUserRecordIDs userRecordIDs: [CKRecord.ID]
    ) async throws -> [CKRecord.ID: CKUserIdentity] {
        try await identities(userRecordIDs) { CKUserIdentityLookupInfo(userRecordID: $0) }
    }

    @preconcurrency
    public func discoverUserIdentities(
        forEmailAddresses emails: [String],
        completionHandler: @escaping @Sendable (Result<[String: CKUserIdentity], any Error>) -> Void
    ) {
        core.call(
            { try await self.userIdentities(forEmailAddresses: emails) },
            completion: completionHandler)
    }

    @preconcurrency
    public func discoverUserIdentities(
        forPhoneNumbers phoneNumbers: [String],
        completionHandler: @escaping @Sendable (Result<[String: CKUserIdentity], any Error>) -> Void
    ) {
        core.call(
            { try await self.userIdentities(forPhoneNumbers: phoneNumbers) },
            completion: completionHandler)
    }

    @preconcurrency
    public func discoverUserIdentities(
        forUserRecordIDs userRecordIDs: [CKRecord.ID],
        completionHandler:
            @escaping @Sendable (Result<[CKRecord.ID: CKUserIdentity], any Error>) -> Void
    ) {
        core.call(
            { try await self.userIdentities(forUserRecordIDs: userRecordIDs) },
            completion: completionHandler)
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
