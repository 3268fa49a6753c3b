import StratusRecords
import StratusWire

extension DatabaseSession {
    /// Fetches a page of one zone's changes for a store of this device.
    ///
    /// - Throws: also the error of a single record, because a token after it must not be kept; but the store gets the
    ///   names of records that cannot be read, and keeps them with the token.
    func fetchedPage(_ question: ZoneChangesQuestion) async throws -> FetchedPage {
        let page = try await pages([question], keepsFields: true).only().get()
        var reader = reader
        let matching = matching
        let zoneID = question.zoneID
        var fetched = FetchedPage(
            token: page.syncToken, moreComing: page.moreComing,
            remainingCount: page.remainingChanges.flatMap { Int(exactly: $0) })
        fetched.records.reserveCapacity(page.records.count)
        // The records that must be completed as objects, with their indices.
        var objects: [(place: Int, record: CKRecord)] = []
        sender.connection.noteFetched(page.records.count, areChanges: true)
        for result in page.records {
            switch result {
            case .record(let dictionary):
                try matching.check(dictionary.zoneID, zoneID)
                if let record = reader.fetched(dictionary, in: zoneID) {
                    fetched.records.append(record)
                    continue
                }
                let record: CKRecord
                do {
                    record = try reader.record(dictionary, in: zoneID)
                } catch let error as CKError where error.isOfUnreadableRecord {
                    // Fails only this record. Without a name the error belongs to no record.
                    guard let name = dictionary.recordName else { throw error }
                    fetched.unreadable[name] = error
                    continue
                }
                objects.append((fetched.records.count, record))
                // A placeholder until the completed record replaces it.
                fetched.records.append(
                    .record(
                        RecordSnapshot(id: RecordID(record.recordID), type: record.recordType)))
            case .deleted(let tombstone):
                try matching.check(tombstone.zoneID, zoneID)
                fetched.deletedNames.append(tombstone.recordName)
                if let created = tombstone.createdTimestamp {
                    fetched.createdMillisecondsOfDeleted[tombstone.recordName] = created
                }
            case .failure(let failure):
                try matching.check(failure.zoneID, zoneID)
                let error = CKError(failure.error, about: .record, uuid: failure.uuid)
                guard error.isOfUnreadableRecord, let name = failure.recordName else {
                    throw error
                }
                fetched.unreadable[name] = error
            }
        }
        if reader.isIncomplete {
            let failures = try await complete(objects.map(\.record))
            for object in objects {
                if let error = failures[object.record.recordID] { throw error }
            }
        }
        for object in objects {
            fetched.records[object.place] = .record(try RecordSnapshot(object.record))
        }
        return fetched
    }
}

extension CKDatabase {
    /// Fetches one page of the changes in a zone, for a store of this device.
    ///
    /// - Parameters:
    ///   - knownChangeTags: the token counts as expired if the service has lost a change with one
    ///     of these tags.
    ///   - deletionsAfterVersion: a fetch from the beginning, with all its pages, reports only
    ///     deletions after this version of the zone.
    package func fetchedPage(
        ofZone zoneID: CKRecordZone.ID, since token: CKServerChangeToken?, resultsLimit: Int?,
        knownChangeTags: [String], deletionsAfterVersion: Int64?
    ) async throws -> FetchedPage {
        try await session.fetchedPage(
            ZoneChangesQuestion(
                zoneID: zoneID, token: token, resultsLimit: resultsLimit ?? 0,
                knownChangeTags: knownChangeTags, deletionsAfterVersion: deletionsAfterVersion))
    }
}
