import Logging
import StratusRecords
import StratusStorage
import StratusWire

/// What an operation wants of a share, as far as it can be said before the transaction.
struct PlannedShare: Sendable {
    var wanted: ShareDictionary
    /// The owner; nil in the shared database, where administrators save.
    var person: ParticipantIdentity?
}

extension ModifyPlanning {
    /// Checks what an operation says of sharing. Whether there is a record to share, and whether it may
    /// be, shows in the transaction.
    func planSharing(
        of record: RecordDictionary, type recordType: String, into planned: inout PlannedOperation
    ) throws {
        let isShare = recordType == ShareDictionary.recordType
        guard isShare == (planned.key.name == ShareDictionary.zoneShareName) || isShare else {
            throw ServiceError.invalid("This name is reserved for the share of a zone.")
        }
        guard isShare || record.createShortGUID else { return }
        guard context.scope != .public else {
            throw ServiceError.wrongDatabase("Shares exist in the private database only.")
        }
        // A participant makes no links; whether one may change a share, the transaction says.
        let isOwner = context.scope == .private
        guard isOwner || isShare && planned.kind != .create else { throw ServiceError.notPermitted }
        guard planned.key.zoneName != ZoneID.defaultZoneName else {
            throw ServiceError.invalid("Share records of a custom zone.")
        }
        if isOwner, !isShare || planned.kind == .create || planned.kind.isForced {
            planned.shortGUID = settings.newShortGUID()
        }
        guard isShare else { return }
        let wanted = record.share ?? ShareDictionary()
        let isZoneShare = planned.key.name == ShareDictionary.zoneShareName
        if let root = wanted.root {
            guard !isZoneShare, Names.isRecordName(root.recordName),
                root.recordName != planned.key.name
            else { throw ServiceError.shareWithoutRoot }
            planned.required.append(
                RecordKey(zoneName: planned.key.zoneName, name: root.recordName))
        } else if planned.kind == .create, !isZoneShare {
            throw ServiceError.shareWithoutRoot
        }
        if case .some = record.parentRecordName {
            throw ServiceError.invalid("A share has no parent.")
        }
        planned.share = PlannedShare(wanted: wanted, person: person)
    }
}

extension ModifyPlan {
    /// The caller as shares know persons, where the request saves one.
    static func sharingPerson(
        of request: RecordsModify.Request, _ keys: [RecordKey?], _ stored: [RecordKey: RecordRow],
        in context: RequestContext, _ directory: any Directory
    ) async throws -> ParticipantIdentity? {
        guard context.scope == .private else { return nil }
        let savesShare = zip(request.operations, keys).contains { operation, key in
            let type = operation.record.recordType ?? key.flatMap { stored[$0]?.type }
            return type == ShareDictionary.recordType
        }
        return savesShare ? try await context.participantIdentity(in: directory) : nil
    }

    /// The short GUIDs that were drawn for the request.
    var shortGUIDs: [String] {
        items.compactMap { item in
            if case .ready(let operation) = item { operation.shortGUID } else { nil }
        }
    }

    /// Says where the links will lead, before they lead there: a link that is handed out is never
    /// forgotten.
    func registerShortGUIDs(
        in context: RequestContext, _ directory: any Directory
    ) async throws {
        let drawn = shortGUIDs
        guard !drawn.isEmpty, let owner = context.caller.userRecordName else { return }
        try await directory.put(
            drawn.map { ShortGUIDRow(shortGUID: $0, address: context.address, owner: owner) })
    }
}

/// What is left to do after a modify request's commit.
struct SharingOutcome: Sendable {
    /// Drawn and not needed, or of shares that ended.
    var unusedShortGUIDs: [String] = []

    func forgetShortGUIDs(_ directory: any Directory, _ logger: Logger) async {
        guard !unusedShortGUIDs.isEmpty else { return }
        do {
            try await directory.deleteShortGUIDs(unusedShortGUIDs)
        } catch {
            // They lead nowhere: the owner's database knows no such share. The request was carried out.
            logger.debug("Short GUIDs of ended shares were left.")
        }
    }
}
