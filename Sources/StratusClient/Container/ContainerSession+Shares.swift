import Foundation
import StratusRecords
import StratusWire

extension ContainerSession {
    /// Says what is behind the links of shares.
    ///
    /// - Parameter rootRecord: whether to fetch the root with it, and which of its keys; nil is no
    ///   root.
    func shareMetadata(
        for urls: [URL], rootRecord: (desiredKeys: [CKRecord.FieldKey]?, Void)? = nil
    ) async throws -> [(item: URL, result: Result<CKShareMetadata, any Error>)] {
        let found = try await results(
            urls,
            wire: { url in
                guard let shortGUID = ShareLink.shortGUID(of: url) else {
                    throw CKError(
                        .invalidArguments, "Give the link of a share: …/share/<identifier>.")
                }
                return ShortGUIDDictionary(
                    value: shortGUID, shouldFetchRootRecord: rootRecord == nil ? nil : true,
                    rootRecordDesiredKeys: rootRecord?.desiredKeys)
            },
            ask: { try await send(RecordsResolve.self, .init(shortGUIDs: $0)).results },
            read: { url, answer in try metadata(answer, ShareLinkKey.key(in: url)) })
        for metadata in found.compactMap(\.result.success) {
            await complete(metadata)
        }
        return found
    }

    /// Fetches what a root record lacks. Who looks at a link is told of it in any case: what cannot be
    /// had is nil.
    private func complete(_ metadata: CKShareMetadata) async {
        guard let record = metadata.rootRecord else { return }
        let session = DatabaseSession(sender: sender, core: core)
        do {
            if let key = metadata.linkKey { try await session.decrypt(record, with: key) }
            _ = try await session.downloadAssets(of: [record])
        } catch {
            // As said above.
        }
    }

    /// Joins shares, each in its own container.
    func accept(
        _ metadatas: [CKShareMetadata]
    ) async throws -> [(item: CKShareMetadata, result: Result<CKShare, any Error>)] {
        var accepted: [CKShareMetadata: Result<CKShare, any Error>] = [:]
        for (container, group) in Dictionary(grouping: metadatas, by: \.containerIdentifier) {
            let session = ContainerSession(
                core: container == core.identifier
                    ? core : ContainerCore(identifier: container, connection: core.connection),
                pace: pace)
            for (metadata, result) in try await session.join(group) { accepted[metadata] = result }
        }
        return metadatas.compactMap { metadata in
            accepted[metadata].map { (metadata, $0) }
        }
    }

    private func join(
        _ metadatas: [CKShareMetadata]
    ) async throws -> [(item: CKShareMetadata, result: Result<CKShare, any Error>)] {
        var joined = try await results(
            metadatas, wire: { ShortGUIDDictionary(value: $0.shortGUID) },
            ask: { try await send(RecordsAccept.self, .init(shortGUIDs: $0)).results },
            read: { asked, answer in try metadata(answer, asked.linkKey).share })
        for index in joined.indices {
            guard case .success(let share) = joined[index].result else { continue }
            do {
                try await keepKey(joined[index].item.linkKey, of: share)
            } catch {
                // Told as the item's own result: joining again is joining once.
                joined[index].result = .failure(CKError(requestFailedWith: error))
            }
        }
        return joined
    }

    /// Keeps the key of a share that was joined, for the values of its zone.
    private func keepKey(_ key: ZoneKey?, of share: CKShare) async throws {
        let zoneID = share.recordID.zoneID
        guard let key, zoneID.ownerName != CKCurrentUserDefaultName else { return }
        share.state.withLock { $0.sharing?.linkKey = key }
        do {
            try await core.connection.keyring.add(key, of: zoneID, core: core, pace: pace)
        } catch CKError.accountTemporarilyUnavailable {
            // The keyring's own key is on another device. The person imports it and opens the link
            // again; the share itself does not depend on it.
        }
    }

    private func metadata(_ result: ShareResult, _ key: ZoneKey?) throws -> CKShareMetadata {
        switch result {
        case .share(let dictionary):
            return try CKShareMetadata(
                dictionary, container: core.identifier,
                linkOrigin: core.connection.transport.shareLinkOrigin, linkKey: key)
        case .failure(_, let error): throw CKError(error, about: .record)
        }
    }
}
