import Foundation

extension CKContainer {
    // MARK: Links

    /// Fetches the metadata of the share behind a link.
    ///
    /// - Throws: `CKError.unknownItem` for a link that leads nowhere or is for other people;
    ///   `CKError.participantMayNeedVerification` when it was sent to an address that may be the
    ///   user's.
    public func shareMetadata(for url: URL) async throws -> CKShare.Metadata {
        try await session.shareMetadata(for: [url]).only().result.get()
    }

    /// Fetches the metadata of the shares behind links of this container with one request.
    ///
    /// - Returns: by link, the metadata or an error as in ``shareMetadata(for:)``.
    /// - Throws: `CKError` when the request fails as a whole.
    public func shareMetadatas(
        for urls: [URL]
    ) async throws -> [URL: Result<CKShare.Metadata, any Error>] {
        byItem(try await session.shareMetadata(for: urls))
    }

    /// Asks the owners of shares for access, as ``CKShareRequestAccessOperation`` does.
    ///
    /// - Returns: by link, whether the request was accepted for delivery to the owner.
    public func requestShareAccess(
        for urls: [URL]
    ) async throws -> [URL: Result<Void, any Error>] {
        byItem(try await session.requestAccess(to: urls))
    }

    // MARK: Joining

    /// Joins a share; its zone then appears in the shared database.
    ///
    /// - Throws: as ``shareMetadata(for:)``; `CKError.tooManyParticipants` when the share is full.
    public func accept(_ metadata: CKShare.Metadata) async throws -> CKShare {
        try await session.accept([metadata]).only().result.get()
    }

    /// Joins shares, each in the container that its metadata names.
    public func accept(
        _ metadatas: [CKShare.Metadata]
    ) async throws -> [CKShare.Metadata: Result<CKShare, any Error>] {
        byItem(try await session.accept(metadatas))
    }

    /// Opens a share's link as Apple's systems do: fetches its metadata and passes it to the app.
    ///
    /// An app calls this with a link from its command line, a form or a custom address scheme, and
    /// gives it the code of its `application(_:userDidAcceptCloudKitShareWith:)` or
    /// `windowScene(_:userDidAcceptCloudKitShareWith:)`:
    ///
    /// ```swift
    /// try await container.openShare(at: link) { metadata in
    ///     _ = try await CKContainer(identifier: metadata.containerIdentifier).accept(metadata)
    /// }
    /// ```
    ///
    /// - Throws: as ``shareMetadata(for:)``, and what the app's code throws.
    public func openShare(
        at url: URL,
        userDidAcceptCloudKitShareWith accept: (CKShare.Metadata) async throws -> Void
    ) async throws {
        try await accept(try await shareMetadata(for: url))
    }

    // MARK: Participants

    /// Looks up a person as a participant to add to a share. Anyone can be invited.
    public func shareParticipant(
        forEmailAddress emailAddress: String
    ) async throws -> CKShare.Participant {
        try await participant(CKUserIdentity.LookupInfo(emailAddress: emailAddress))
    }

    /// Looks a person up by phone number, as a participant to add to a share. Anyone can be invited.
    ///
    /// - Throws: `CKError.invalidArguments` for an empty number, or one of more than 320 bytes.
    public func shareParticipant(
        forPhoneNumber phoneNumber: String
    ) async throws -> CKShare.Participant {
        try await participant(CKUserIdentity.LookupInfo(phoneNumber: phoneNumber))
    }

    /// Looks a person up by user record, as a participant to add to a share.
    ///
    /// The participant of a user who did not agree to be found has neither a name nor a user record.
    public func shareParticipant(
        forUserRecordID userRecordID: CKRecord.ID
    ) async throws -> CKShare.Participant {
        try await participant(CKUserIdentity.LookupInfo(userRecordID: userRecordID))
    }

    private func participant(
        _ info: CKUserIdentity.LookupInfo
    ) async throws -> CKShare.Participant {
        try await session.participants(for: [info]).only().result.get()
    }
}
