import StratusCache

#if canImport(Darwin)
    import StratusClient
#else
    import CloudKit
#endif

/// The owner of the lists: what a sign-in adds, and what a sign-out removes.
extension ShoppingStore {
    /// Takes over the lists of another store on this device: those created there before a user signed in.
    ///
    /// Nothing is removed there. If repeated, it takes what is missing here.
    package func adoptLists(of local: ShoppingStore) async throws {
        for listID in await local.ownListIDs {
            let records = try await local.savedRecords(of: listID)
            let known = Set(try await savedRecords(of: listID).map(\.recordID))
            let missing = records.filter { !known.contains($0.recordID) }
            guard !missing.isEmpty else { continue }
            for record in missing {
                // The other file's asset is only known there; this store keeps its own copy.
                guard let picture = record[ShoppingRecord.pictureField] as? CKAsset,
                    let url = picture.fileURL
                else { continue }
                record[ShoppingRecord.pictureField] = CKAsset(fileURL: url)
            }
            try await cache.save(missing)
            absorbUnseen()
            try readWholeList(listID)
        }
    }

    /// Declares that the content of this file belongs to its user. Earlier versions moved lists from before a sign-in
    /// here, which halted syncing.
    package func claimLists() async throws {
        guard try await cache.status().userRecordName == nil else { return }
        try await cache.adoptLocalRecords()
    }

    private var ownListIDs: [ListID] { listsByID.keys.filter(\.isOwn) }

    private func savedRecords(of listID: ListID) async throws -> [CKRecord] {
        try await cache.records(inZoneWith: listID.zoneID, in: listID.scope)
    }

    /// Ends the account's lists on this device, closes the store, and ends the sign-in that the device keeps.
    ///
    /// - Parameter sendingFirst: sends what is pending, and throws without removing anything if that fails; otherwise
    ///   unsent changes are lost.
    /// - Returns: how many changes were not sent.
    /// - Throws: ``SessionNotEnded`` when all this is done, but the service could not be told; otherwise the error of the
    ///   cache, and then nothing is removed.
    @discardableResult
    public func signOut(sendingFirst: Bool) async throws -> Int {
        let unsent = try await cache.signOut(sendingFirst ? .sendThenRemove : .remove)
        try activity.removeEverything()
        listsByID = [:]
        try await close()
        if container.connection.signedInUserRecordName != nil {
            do {
                try await container.signOut()
            } catch let error as CKError {
                // The user is signed out on this device.
                throw SessionNotEnded(unsentCount: unsent.count, cause: error)
            }
        }
        return unsent.count
    }

    /// The lists are removed from this device and the user is signed out on it, but the service was not notified.
    public struct SessionNotEnded: Error, CustomStringConvertible {
        /// How many changes were not sent.
        public let unsentCount: Int
        let cause: CKError

        public var description: String {
            "The service was not notified of the sign-out: \(cause.localizedDescription)"
        }
    }
}
