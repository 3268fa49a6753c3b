import Foundation

// What the key in a share's link is good for.

extension ContainerSession {
    /// Fetches what root records lack. Who looks at a link is told of it in any case: what cannot be
    /// had is nil.
    func completeRootRecords(of metadatas: [CKShareMetadata]) async {
        let session = DatabaseSession(sender: sender, core: core)
        for metadata in metadatas {
            guard let record = metadata.rootRecord else { continue }
            do {
                try await session.decrypt(record, linkKey: metadata.linkKey)
                _ = try await session.downloadAssets(of: [record])
            } catch {
                // As said above.
            }
        }
    }

    /// Keeps the keys of shares that were joined, for the values of their zones; but a zone's first
    /// key stays, whatever another link says.
    func keepingKeys(
        of joined: [(item: CKShareMetadata, result: Result<CKShare, any Error>)]
    ) async -> [(item: CKShareMetadata, result: Result<CKShare, any Error>)] {
        var joined = joined
        for index in joined.indices {
            guard case .success(let share) = joined[index].result,
                let key = joined[index].item.linkKey
            else { continue }
            do {
                try await keep(key, of: share)
            } catch {
                let error = CKError(requestFailedWith: error)
                // What may succeed a little later is told, as joining again is joining once. Else the
                // person opens the link again when this device can keep keys, and when it has the
                // account's own; the share itself does not depend on it.
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
