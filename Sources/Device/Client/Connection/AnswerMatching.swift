import StratusRecords
import StratusWire

/// Checks that an answer is about the requested item: its name, its zone and the zone's owner.
///
/// A faulty or hostile service must not pass one record off as another: the app would then merge
/// and save one record's secrets into the other. An answer may leave out a name if the protocol
/// allows it; it then means the requested item.
///
/// A mismatch is `CKError.internalError`, as is an answer with too few results: the app's request
/// was correct, and repeating it may succeed.
struct AnswerMatching: Sendable {
    let scope: DatabaseScope
    /// The record name of the user, as far as it is known.
    let user: String?

    fileprivate static let answeredItem = "AnsweredItem"

    static func error(asked: String, answered: String) -> CKError {
        CKError(
            .internalError,
            "The service answered about an item other than the requested one; nothing of it was"
                + " kept. Try again, or update the service.",
            details: ["AskedItem": asked, answeredItem: answered])
    }

    static func check(_ answered: String?, _ asked: String) throws {
        guard answered == nil || answered == asked else {
            throw error(asked: asked, answered: answered ?? "")
        }
    }

    // MARK: Zones

    func check(_ answered: ZoneIDDictionary?, _ asked: CKRecordZone.ID) throws {
        guard let answered else { return }
        guard answered.zoneName == asked.zoneName, isOwner(answered.ownerRecordName, of: asked)
        else {
            throw Self.error(
                asked: "\(asked.zoneName) of \(asked.ownerName)",
                answered: "\(answered.zoneName) of \(answered.ownerRecordName ?? "")")
        }
    }

    private func isOwner(_ answered: String?, of asked: CKRecordZone.ID) -> Bool {
        if answered == asked.ownerName { return true }
        switch scope {
        case .shared: return false
        // Zones of the public database have no owners.
        case .public: return true
        case .private:
            guard let answered, answered != CKCurrentUserDefaultName, let user else {
                // The database has one owner, and its records are read as that user's.
                return true
            }
            return answered == user
        }
    }

    // MARK: Records

    func check(
        recordName: String?, zoneID: ZoneIDDictionary?, _ asked: CKRecord.ID
    ) throws {
        try Self.check(recordName, asked.recordName)
        try check(zoneID, asked.zoneID)
    }

    /// Checks the result of a record, and the records within it.
    func check(_ result: RecordResult, _ asked: CKRecord.ID) throws {
        switch result {
        case .record(let record):
            try check(recordName: record.recordName, zoneID: record.zoneID, asked)
        case .deleted(let tombstone):
            try check(recordName: tombstone.recordName, zoneID: tombstone.zoneID, asked)
        case .failure(let failure):
            try check(recordName: failure.recordName, zoneID: failure.zoneID, asked)
            for record in [failure.serverRecord, failure.ancestorRecord] {
                try check(recordName: record?.recordName, zoneID: record?.zoneID, asked)
            }
        }
    }
}

extension AnswerMatching {
    /// Checks what the answer about a link names: the link, the share and the root record.
    static func check(
        _ dictionary: ShareMetadataDictionary, link: ShortGUIDDictionary, container: String
    ) throws {
        try check(dictionary.shortGUID.value, link.value)
        try check(dictionary.containerIdentifier, container)
        guard let zone = dictionary.zoneID else { return }
        for record in [dictionary.share, dictionary.rootRecord] {
            guard let answered = record?.zoneID else { continue }
            guard answered.zoneName == zone.zoneName,
                answered.ownerRecordName == zone.ownerRecordName
            else { throw error(asked: zone.zoneName, answered: answered.zoneName) }
        }
        if let root = dictionary.rootRecord {
            try check(root.recordName, dictionary.rootRecordName ?? "")
        }
    }

    /// Checks the identity of a person who was looked up.
    static func check(_ identity: UserIdentityDictionary, _ asked: UserLookupInfo) throws {
        guard identity.lookupInfo == nil || identity.lookupInfo == asked else {
            throw error(
                asked: "\(asked)", answered: "\(identity.lookupInfo ?? UserLookupInfo())")
        }
        if let name = asked.userRecordName { try check(identity.userRecordName, name) }
    }
}

extension CKError {
    /// Whether an answer was about an item other than the requested one.
    var isMismatch: Bool {
        code == .internalError && userInfo[AnswerMatching.answeredItem] != nil
    }
}
