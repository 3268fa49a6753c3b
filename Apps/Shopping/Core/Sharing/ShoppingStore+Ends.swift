import StratusCache

#if canImport(Darwin)
    import Foundation
    import StratusClient
#else
    import CloudKit
#endif

// When a shared list is removed, a participant's device only learns that its zone is gone. It then reads the reason: an
// owner who stops or deletes saves a record with it in the public database, under the share's name, which only those
// who share the list know. A participant may have saved one first: it is not the owner's, and is ignored.

/// How a list of another person ended.
enum ListEnd: String, Sendable {
    case stopped, deleted
}

extension ShoppingStore {
    private static func endID(_ share: CKShare) -> CKRecord.ID {
        CKRecord.ID(recordName: "end-" + share.recordID.recordName)
    }

    /// Saves the reason for the participants, unless its name is taken: ending the list matters more than the reason.
    func noteEnd(_ end: ListEnd, of share: CKShare) async throws {
        let record = CKRecord(
            recordType: ShoppingRecord.listEndType, recordID: Self.endID(share))
        record[ShoppingRecord.endField] = end.rawValue
        // If a list was stopped, shared again by mistake and deleted, the last reason counts.
        let results = try await container.publicCloudDatabase.modifyRecords(
            saving: [record], deleting: [], savePolicy: .allKeys)
        for case .failure(let error) in results.saveResults.values {
            if case CKError.permissionFailure = error { continue }
            throw error
        }
    }

    /// Announces why another person's list is gone.
    func notifyEnd(of listID: ListID, _ known: KnownList) async {
        let owner = known.share.map { ListSharing($0).owner?.name ?? "" } ?? ""
        let kind: ShoppingChange.Kind
        switch await end(of: known, ownedBy: listID.ownerName) {
        case .success(.stopped): kind = .sharingStopped
        case .success(.deleted): kind = .listDeletedByOwner
        case .success(nil): kind = .removedFromList
        case .failure: kind = .listUnshared
        }
        notify(ShoppingChange(kind, listID: listID, listTitle: known.title, author: owner))
    }

    private func end(
        of known: KnownList, ownedBy ownerName: String?
    ) async -> Result<ListEnd?, any Error> {
        guard let share = known.share else { return .failure(CKError(.unknownItem)) }
        do {
            let record = try await container.publicCloudDatabase.record(for: Self.endID(share))
            guard record.creatorUserRecordID?.recordName == ownerName else {
                return .failure(CKError(.unknownItem))
            }
            return .success(
                (record[ShoppingRecord.endField] as String?).flatMap(ListEnd.init(rawValue:)))
        } catch let error as CKError where error.code == .unknownItem {
            // Without a record the sharing has not ended.
            return .success(nil)
        } catch {
            return .failure(error)
        }
    }

    // MARK: People

    /// Notes who joined and who left since this device last checked, also while it was not running.
    func notePeople(of listID: ListID) throws {
        guard let known = listsByID[listID], let share = known.share else { return }
        let people = ListSharing(share).people
        let joined = people.filter { $0.standing == .joined && !$0.isOwner && !$0.isMe }
        let note = "people \(listID)"
        let before = try activity.note(note)
        var former: [String: String] = [:]
        for line in (before ?? "").split(separator: "\n") {
            let parts = line.split(separator: "\t", maxSplits: 1)
            former[String(parts[0])] = parts.count > 1 ? String(parts[1]) : ""
        }
        let now = Dictionary(joined.map { ($0.id, $0.name) }) { first, _ in first }
        guard now != former || before == nil else { return }
        try activity.setNote(
            note,
            now.map { "\($0.key)\t\(ListText.oneLine($0.value))" }.sorted()
                .joined(separator: "\n"))
        for (id, name) in now.sorted(by: { $0.value < $1.value }) where former[id] == nil {
            try notifyPerson(.personJoined(name: name), "joined", name, in: listID)
        }
        for (id, name) in former.sorted(by: { $0.value < $1.value }) where now[id] == nil {
            try notifyPerson(.personLeft(name: name), "left", name, in: listID)
        }
        let isLonely =
            listID.isOwn && now.isEmpty && !former.isEmpty
            && ListSharing(share).others.isEmpty
            && ListSharing(share).linkAccess == .invitedOnly
        if isLonely {
            try cache.stopSharing(share.recordID)
            listsByID[listID]?.share = nil
            try activity.setNote(note, nil)
        }
    }

    private func notifyPerson(
        _ kind: ShoppingChange.Kind, _ action: String, _ name: String, in listID: ListID
    ) throws {
        let title = listsByID[listID]?.title ?? ""
        try activity.keep(
            ActivityEvent(
                id: newID(), milliseconds: clock(), action: .init(rawValue: action), itemID: nil,
                value: nil, device: "", author: name), of: listID.description)
        notify(ShoppingChange(kind, listID: listID, listTitle: title))
    }
}
