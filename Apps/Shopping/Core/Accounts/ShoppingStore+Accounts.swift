import StratusCache

#if canImport(Darwin)
    import StratusClient
#else
    import CloudKit
#endif

/// Whose the lists are: what comes with a sign-in, and what goes with a sign-out.
extension ShoppingStore {
    /// Takes over the lists of another store on this device: what was made there before anybody signed in.
    ///
    /// Nothing is removed there. Again, it takes what is not here yet.
    package func adoptLists(of local: ShoppingStore) async throws {
        for listID in await local.ownListIDs {
            let records = try await local.savedRecords(of: listID)
            let known = Set(try await savedRecords(of: listID).map(\.recordID))
            let missing = records.filter { !known.contains($0.recordID) }
            guard !missing.isEmpty else { continue }
            for record in missing {
                // The other file's asset is known there alone; this one keeps a copy of its own.
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

    /// Says that what this file has is its user's, which it is: earlier versions moved the lists of before a sign-in here,
    /// and syncing halted.
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
    /// - Parameter sendingFirst: sends what is pending, and throws without removing anything where that fails; else
    ///   what was not sent is lost.
    /// - Returns: how many changes were not sent.
    @discardableResult
    public func signOut(sendingFirst: Bool) async throws -> Int {
        let unsent = try await cache.signOut(sendingFirst ? .sendThenRemove : .remove)
        try activity.removeEverything()
        listsByID = [:]
        try await close()
        if container.connection.signedInUserRecordName != nil { try await container.signOut() }
        return unsent.count
    }
}
