import Foundation

// Uses the key in a share's link.

extension ContainerSession {
    /// Downloads the assets of root records and decrypts their values. The metadata of a link is
    /// returned in any case: what cannot be fetched is nil.
    func completeRootRecords(of metadatas: [CKShareMetadata]) async {
        let session = DatabaseSession(sender: sender, core: core)
        for metadata in metadatas {
            guard let record = metadata.rootRecord else { continue }
            do {
                try await session.decrypt(record, linkKey: metadata.linkKey)
                _ = try await session.downloadAssets(of: [record])
            } catch {
                // What cannot be fetched stays nil, which the app sees; the metadata does not
                // depend on it.
            }
        }
    }

    /// Keeps the link keys of joined shares, to decrypt the values of their zones; a zone's first
    /// key stays, regardless of other links.
    func keepingKeys(
        of joined: [ItemResult<CKShareMetadata, CKShare>]
    ) async -> [ItemResult<CKShareMetadata, CKShare>] {
        var joined = joined
        for index in joined.indices {
            guard case .success(let share) = joined[index].result,
                let key = joined[index].item.linkKey
            else { continue }
            do {
                try await keep(key, of: share)
            } catch {
                let error = CKError(requestFailedWith: error)
                // A transient error is reported, because joining again is harmless. After any other
                // the share is joined without the key: its encrypted values read as nil until the
                // person opens the link again on a device that can keep keys and has the account's
                // key.
                if error.isTransient || error.code == .operationCancelled {
                    joined[index].result = .failure(error)
                }
            }
        }
        return joined
    }

    private func keep(_ key: ZoneKey, of share: CKShare) async throws {
        let zoneID = share.recordID.zoneID
        let trusted = try await core.connection.keyring.add(
            key, of: zoneID, CloudKeyring.Caller(core: core, pace: pace))
        if let trusted { share.state.withLock { $0.sharing?.linkKey = trusted } }
    }
}
