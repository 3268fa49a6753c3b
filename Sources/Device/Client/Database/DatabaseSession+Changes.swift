import Foundation
import StratusRecords
import StratusWire

/// Which zones changed, as far as one answer tells.
package struct DatabaseChangesPage: Sendable {
    package var changed: [CKRecordZone.ID] = []
    package var deleted:
        [(zoneID: CKRecordZone.ID, reason: CKDatabase.DatabaseChange.Deletion.Reason)] = []
    /// How often each of the changed zones was made, as far as the service tells.
    package var generations: [CKRecordZone.ID: Int64] = [:]
    package var token: CKServerChangeToken
    package var moreComing: Bool
}

/// What changed in one zone, as far as one answer tells; in the order of the changes.
struct ZoneChangesPage: Sendable {
    enum Change: Sendable {
        case changed(CKRecord)
        case failed(CKRecord.ID, CKError)
        case deleted(CKRecord.ID, CKRecord.RecordType)
    }

    var changes: [Change] = []
    var token: CKServerChangeToken
    var moreComing: Bool
    /// Whether records may lack what ``DatabaseSession/completed(_:)`` fetches.
    var isIncomplete = false
}

/// What is asked of one zone.
struct ZoneChangesQuestion: Sendable {
    var zoneID: CKRecordZone.ID
    var token: CKServerChangeToken?
    /// 0 lets the service decide.
    var resultsLimit = 0
    var desiredKeys: [CKRecord.FieldKey]?
    /// Change tags that the service gave and may have lost since.
    var knownChangeTags: [String] = []
    /// From the beginning: deletions after this version of the zone are told, and no others.
    var deletionsAfterVersion: Int64?
}

extension DatabaseSession {
    private func checkFeed() throws {
        if sender.scope == .public {
            throw CKError(
                .invalidArguments,
                "The public database has no changes; ask the private or the shared one.")
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
                page.deleted.append(
                    (reader.zoneID(zone.zoneID), .init(wireWord: zone.deletionReason)))
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

    /// Tells of a service that would be asked the same for ever.
    private func checkAdvance(
        from token: CKServerChangeToken?, to next: String, moreComing: Bool
    ) throws {
        guard !moreComing || next != token?.text else {
            throw CKError(
                .serverRejectedRequest,
                "The service's change token stands still though more is to come.")
        }
    }

    /// Asks one zone, and fetches what its records lack.
    func zoneChanges(_ question: ZoneChangesQuestion) async throws -> ZoneChangesPage {
        try await completed(try await zoneChanges([question]).only().get())
    }

    /// Asks several zones with one request.
    ///
    /// - Returns: one result per question, in their order; see ``completed(_:)``.
    func zoneChanges(
        _ questions: [ZoneChangesQuestion]
    ) async throws -> [Result<ZoneChangesPage, CKError>] {
        try zip(questions, try await pages(questions)).map { question, result in
            switch result {
            case .success(let page):
                do {
                    return .success(try read(page, in: question.zoneID))
                } catch let error as CKError where error.isMismatch {
                    // The other zones are none the worse for it; this one's token stays.
                    return .failure(error)
                }
            case .failure(let error): return .failure(error)
            }
        }
    }

    /// Asks several zones with one request.
    ///
    /// - Parameter keepsFields: whether fields are read as a device keeps them.
    /// - Returns: one page per question, in their order, of the zone that was asked.
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
                    // The other zones are none the worse for it.
                    return .failure(CKError(requestFailedWith: error))
                }
                do {
                    try matching.check(page.zoneID, question.zoneID)
                    return .success(page)
                } catch let error as CKError where error.isMismatch {
                    // The other zones are none the worse for it; this one's token stays.
                    return .failure(error)
                }
            case .failure(let failure):
                return .failure(CKError(failure.error, about: .zone))
            }
        }
    }

    /// A page with what its records lack. An asset that is not to be had fails its record, unless the
    /// session wants records all the same.
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
        _ page: ChangesZone.Page, in zoneID: CKRecordZone.ID
    ) throws -> ZoneChangesPage {
        var reader = reader
        let matching = matching
        var changes: [ZoneChangesPage.Change] = []
        changes.reserveCapacity(page.records.count)
        sender.connection.noteFetched(page.records.count, areChanges: true)
        for result in page.records {
            switch result {
            case .record(let dictionary):
                try matching.check(dictionary.zoneID, zoneID)
                changes.append(.changed(try reader.record(dictionary, in: zoneID)))
            case .deleted(let tombstone):
                try matching.check(tombstone.zoneID, zoneID)
                let recordID = CKRecordID(known: tombstone.recordName, zoneID: zoneID)
                changes.append(.deleted(recordID, tombstone.recordType ?? ""))
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
