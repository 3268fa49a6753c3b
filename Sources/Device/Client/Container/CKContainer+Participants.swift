import Foundation

// Looks up several people at once, as participants.
extension CKContainer {
    /// Participants by what they were looked up with, or the error of a single lookup.
    public typealias ParticipantResults<Key: Hashable> = [Key: Result<
        CKShare.Participant, any Error
    >]

    /// Looks people up by e-mail address, as participants to add to a share. Anyone can be invited.
    ///
    /// - Throws: `CKError` when the request fails as a whole. An address that is empty or longer than 320 bytes
    ///   has a result with `invalidArguments`.
    public func shareParticipants(
        forEmailAddresses emailAddresses: [String]
    ) async throws -> ParticipantResults<String> {
        try await participants(emailAddresses) { CKUserIdentityLookupInfo(emailAddress: $0) }
    }

    /// Looks people up by phone number, as participants to add to a share. Anyone can be invited.
    ///
    /// - Throws: as ``shareParticipants(forEmailAddresses:)``.
    public func shareParticipants(
        forPhoneNumbers phoneNumbers: [String]
    ) async throws -> ParticipantResults<String> {
        try await participants(phoneNumbers) { CKUserIdentityLookupInfo(phoneNumber: $0) }
    }

    /// Looks people up by user record, as participants to add to a share.
    ///
    /// The participant of a user who did not agree to be found has neither a name nor a user record.
    ///
    /// - Throws: as ``shareParticipants(forEmailAddresses:)``.
    public func shareParticipants(
        forUserRecordIDs userRecordIDs: [CKRecord.ID]
    ) async throws -> ParticipantResults<CKRecord.ID> {
        try await participants(userRecordIDs) { CKUserIdentityLookupInfo(userRecordID: $0) }
    }

    private func participants<Key: Hashable>(
        _ keys: [Key], _ info: (Key) -> CKUserIdentityLookupInfo
    ) async throws -> ParticipantResults<Key> {
        let found = try await session.participants(for: keys.map(info))
        return byItem(zip(keys, found).map { (item: $0, result: $1.result) })
    }
}
