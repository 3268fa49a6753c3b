import Foundation

// Looks up several people at once, as participants.
extension CKContainer {
    public typealias ParticipantResults<Key: Hashable> = [Key: Result<
        CKShare.Participant, any Error
    >]

    public func shareParticipants(
        forEmailAddresses emailAddresses: [String]
    ) async throws -> ParticipantResults<String> {
        try await participants(emailAddresses) { CKUserIdentityLookupInfo(emailAddress: $0) }
    }

    public func shareParticipants(
        forPhoneNumbers phoneNumbers: [String]
    ) async throws -> ParticipantResults<String> {
        try await participants(phoneNumbers) { CKUserIdentityLookupInfo(phoneNumber: $0) }
    }

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
