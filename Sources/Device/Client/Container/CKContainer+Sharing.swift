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

    @preconcurrency
    public func fetchShareMetadata(
        with url: URL,
        completionHandler: @escaping @Sendable (CKShare.Metadata?, (any Error)?) -> Void
    ) {
        core.call({ try await self.shareMetadata(for: url) }) { $0.hand(to: completionHandler) }
    }

    public func shareMetadatas(
        for urls: [URL]
    ) async throws -> [URL: Result<CKShare.Metadata, any Error>] {
        byItem(try await session.shareMetadata(for: urls))
    }

    @preconcurrency
    public func fetchShareMetadatas(
        for urls: [URL],
        completionHandler:
            @escaping @Sendable (
                Result<[URL: Result<CKShare.Metadata, any Error>], any Error>
            ) -> Void
    ) {
        core.call({ try await self.shareMetadatas(for: urls) }, completion: completionHandler)
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

    @preconcurrency
    public func accept(
        _ metadata: CKShare.Metadata,
        completionHandler: @escaping @Sendable (CKShare?, (any Error)?) -> Void
    ) {
        core.call({ try await self.accept(metadata) }) { $0.hand(to: completionHandler) }
    }

    /// Joins shares, each in the container that its metadata names.
    public func accept(
        _ metadatas: [CKShare.Metadata]
    ) async throws -> [CKShare.Metadata: Result<CKShare, any Error>] {
        byItem(try await session.accept(metadatas))
    }

    @preconcurrency
    public func accept(
        _ metadatas: [CKShare.Metadata],
        completionHandler:
            @escaping @Sendable (
                Result<[CKShare.Metadata: Result<CKShare, any Error>], any Error>
            ) -> Void
    ) {
        core.call({ try await self.accept(metadatas) }, completion: completionHandler)
    }

    /// Does what Apple's systems do when a person opens a share's link: fetches its metadata and
    /// passes it to the app.
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

    public func shareParticipant(
        forPhoneNumber phoneNumber: String
    ) async throws -> CKShare.Participant {
        try await participant(CKUserIdentity.LookupInfo(phoneNumber: phoneNumber))
    }

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

    @preconcurrency
    public func fetchShareParticipant(
        withEmailAddress emailAddress: String,
        completionHandler: @escaping @Sendable (CKShare.Participant?, (any Error)?) -> Void
    ) {
        core.call({ try await self.shareParticipant(forEmailAddress: emailAddress) }) {
            $0.hand(to: completionHandler)
        }
    }

    @preconcurrency
    public func fetchShareParticipant(
        withPhoneNumber phoneNumber: String,
        completionHandler: @escaping @Sendable (CKShare.Participant?, (any Error)?) -> Void
    ) {
        core.call({ try await self.shareParticipant(forPhoneNumber: phoneNumber) }) {
            $0.hand(to: completionHandler)
        }
    }

    @preconcurrency
    public func fetchShareParticipant(
        withUserRecordID userRecordID: CKRecord.ID,
        completionHandler: @escaping @Sendable (CKShare.Participant?, (any Error)?) -> Void
    ) {
        core.call({ try await self.shareParticipant(forUserRecordID: userRecordID) }) {
            $0.hand(to: completionHandler)
        }
    }
}

/// The results of a request by item; of an item that was named twice, the first.
func byItem<Item: Hashable, Value>(
    _ results: [(item: Item, result: Result<Value, any Error>)]
) -> [Item: Result<Value, any Error>] {
    Dictionary(results.map { ($0.item, $0.result) }) { first, _ in first }
}
