import Foundation
import StratusRecords
import StratusWire

/// One page of the zones that changed.
package struct DatabaseChangesPage: Sendable {
    package var changed: [CKRecordZone.ID] = []
    package var deleted:
        [(zoneID: CKRecordZone.ID, reason: CKDatabase.DatabaseChange.Deletion.Reason)] = []
    /// How often each changed zone was created, and each deleted one before its deletion, if the service says so.
    package var generations: [CKRecordZone.ID: Int64] = [:]
    package var token: CKServerChangeToken
    package var moreComing: Bool
}

/// One page of the changes in a zone, in order.
struct ZoneChangesPage: Sendable {
    enum Change: Sendable {
        case changed(CKRecord)
        case failed(CKRecord.ID, CKError)
        case deleted(CKDatabase.RecordZoneChange.Deletion)
    }

    var changes: [Change] = []
    var token: CKServerChangeToken
    var moreComing: Bool
    /// Whether records may lack what ``DatabaseSession/completed(_:)`` fetches.
    var isIncomplete = false
}

/// The parameters of a fetch of one zone's changes.
struct ZoneChangesQuestion: Sendable {
    var zoneID: CKRecordZone.ID
    var token: CKServerChangeToken?
    /// The maximum number of results; 0 lets the service decide.
    var resultsLimit = 0
    var desiredKeys: [CKRecord.FieldKey]?
    /// Change tags from the service that it may have lost since.
    var knownChangeTags: [String] = []
    /// In a fetch from the beginning: only deletions after this version of the zone are reported.
    var deletionsAfterVersion: Int64?
}

extension DatabaseSession {
    private func checkFeed() throws {
        if sender.scope == .public {
            throw CKError(
                .invalidArguments,
                "The public database has no changes; use the private or the shared one.")
        }
    }

    func databaseChanges(
        since token: CKServerChangeToken?, resultsLimit: Int, deletionsAfterVersion: Int64? = nil,
        knownTokens: [CKServerChangeToken] = []
    ) async throws -> DatabaseChangesPage {
        try checkFeed()
        let request = ChangesDatabase.Request(
            syncToken: token?.text, resultsLimit: resultsLimit > 0 ? resultsLimit : nil,
            deletionsAfterVersion: deletionsAfterVersion,
            knownSyncTokens: knownTokens.isEmpty ? nil : knownTokens.map(\.text))
        let answer = try await sender.send(ChangesDatabase.self, request)
        try checkAdvance(from: token, to: answer.syncToken, moreComing: answer.moreComing)
        var page = DatabaseChangesPage(
            token: CKServerChangeToken(text: answer.syncToken), moreComing: answer.moreComing)
        sender.connection.noteFetched(answer.zones.count, areChanges: true)
        var reader = reader
        for result in answer.zones {
            switch result {
            case .success(let zone) where zone.isDeleted == true:
                let id = reader.zoneID(zone.zoneID)
                page.deleted.append((id, .init(wireWord: zone.deletionReason)))
                page.generations[id] = zone.generation
            case .success(let zone):
                let id = reader.zoneID(zone.zoneID)
                page.changed.append(id)
                page.generations[id] = zone.generation
            case .failure(let failure):
                throw CKError(failure.error, about: .zone)
            }
        }
        return page
    }

    /// Throws when the service's change token does not advance, so that the same page is not
    /// requested endlessly.
    private func checkAdvance(
        from token: CKServerChangeToken?, to next: String, moreComing: Bool
    ) throws {
        guard !moreComing || next != token?.text else {
            throw CKError(
                .serverRejectedRequest,
                "The service's change token does not advance although more changes follow; fetch"
                    + " without a token, or update the service.")
        }
    }

    /// Fetches the changes of one zone, and completes its records.
    func zoneChanges(_ question: ZoneChangesQuestion) async throws -> ZoneChangesPage {
        try await completed(try await zoneChanges([question]).only().get())
    }

    /// Fetches the changes of several zones with one request.
    ///
    /// - Returns: one result per question, in order; see ``completed(_:)``.
    func zoneChanges(
        _ questions: [ZoneChangesQuestion]
    ) async throws -> [Result<ZoneChangesPage, CKError>] {
        zip(questions, try await pages(questions)).map { question, result in
            switch result {
            case .success(let page):
                do {
                    return .success(try read(page, of: question))
                } catch {
                    // Fails only this zone, whose token stays; the others are used.
                    return .failure(CKError(requestFailedWith: error))
                }
            case .failure(let error): return .failure(error)
            }
        }
    }

    /// Fetches a page of several zones, with one request.
    ///
    /// - Parameter keepsFields: whether fields are left in the form that a device stores.
    /// - Returns: one page per question, in order, checked to be of the requested zone.
    func pages(
        _ questions: [ZoneChangesQuestion], keepsFields: Bool = false
    ) async throws -> [Result<ChangesZone.Page, CKError>] {
        try checkFeed()
        guard !questions.isEmpty else { return [] }
        let request = ChangesZone.Request(
            zones: questions.map { question in
                var item = ChangesZone.Item(
                    zoneID: question.zoneID.dictionary, syncToken: question.token?.text,
                    resultsLimit: question.resultsLimit > 0 ? question.resultsLimit : nil,
                    desiredKeys: question.desiredKeys,
                    knownChangeTags: question.knownChangeTags,
                    deletionsAfterVersion: question.deletionsAfterVersion)
                item.keepsFields = keepsFields
                return item
            })
        let answer = try await sender.send(ChangesZone.self, request)
        try check(answer.items.count, for: questions.count)
        return try zip(questions, answer.items).map { question, result in
            switch result {
            case .success(let page):
                do {
                    try checkAdvance(
                        from: question.token, to: page.syncToken, moreComing: page.moreComing)
                } catch {
                    // Fails only this zone; the other zones' pages are used.
                    return .failure(CKError(requestFailedWith: error))
                }
                do {
                    try matching.check(page.zoneID, question.zoneID)
                    return .success(page)
                } catch let error as CKError where error.isMismatch {
                    // Fails only this zone, whose token stays; the others are used.
                    return .failure(error)
                }
            case .failure(let failure):
                return .failure(CKError(failure.error, about: .zone))
            }
        }
    }

    /// Completes the records of a page. An unavailable asset fails its record, unless the session
    /// keeps records without assets.
    func completed(_ page: ZoneChangesPage) async throws -> ZoneChangesPage {
        guard page.isIncomplete else { return page }
        var page = page
        page.isIncomplete = false
        let failures = try await complete(
            page.changes.compactMap { change in
                if case .changed(let record) = change { record } else { nil }
            })
        guard !failures.isEmpty, !keepsRecordsWithoutAssets else { return page }
        for (index, change) in page.changes.enumerated() {
            guard case .changed(let record) = change, let error = failures[record.recordID]
            else { continue }
            page.changes[index] = .failed(record.recordID, error)
        }
        return page
    }

    private func read(
        _ page: ChangesZone.Page, of question: ZoneChangesQuestion
    ) throws -> ZoneChangesPage {
        let zoneID = question.zoneID
        var reader = reader
        reader.lacksFields = question.desiredKeys != nil
        let matching = matching
        var changes: [ZoneChangesPage.Change] = []
        changes.reserveCapacity(page.records.count)
        sender.connection.noteFetched(page.records.count, areChanges: true)
        for result in page.records {
            switch result {
            case .record(let dictionary):
                try matching.check(dictionary.zoneID, zoneID)
                do {
                    changes.append(.changed(try reader.record(dictionary, in: zoneID)))
                } catch {
                    // Fails only this record. Without a name the error belongs to no record.
                    guard let name = dictionary.recordName else { throw error }
                    let recordID = CKRecordID(known: name, zoneID: zoneID)
                    changes.append(.failed(recordID, CKError(requestFailedWith: error)))
                }
            case .deleted(let tombstone):
                try matching.check(tombstone.zoneID, zoneID)
                let recordID = CKRecordID(known: tombstone.recordName, zoneID: zoneID)
                changes.append(
                    .deleted(
                        CKDatabase.RecordZoneChange.Deletion(
                            recordID: recordID, recordType: tombstone.recordType ?? "",
                            createdMilliseconds: tombstone.createdTimestamp)))
            case .failure(let failure):
                try matching.check(failure.zoneID, zoneID)
                let error = CKError(failure.error, about: .record, uuid: failure.uuid)
                guard let name = failure.recordName else { throw error }
                changes.append(.failed(CKRecordID(known: name, zoneID: zoneID), error))
            }
        }
        return ZoneChangesPage(
            changes: changes, token: CKServerChangeToken(text: page.syncToken),
            moreComing: page.moreComing, isIncomplete: reader.isIncomplete)
    }
}

extension CKDatabase.DatabaseChange.Deletion.Reason {
    init(wireWord: String?) {
        switch wireWord {
        case "purged": self = .purged
        case "encryptedDataReset": self = .encryptedDataReset
        default: self = .deleted
        }
    }
}
