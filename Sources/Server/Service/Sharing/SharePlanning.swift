import Logging
import StratusRecords
import StratusStorage
import StratusWire

/// What an operation changes in a share, as far as it is known before the transaction.
struct PlannedShare: Sendable {
    var wanted: ShareDictionary
    /// The owner; nil in the shared database, where administrators save.
    var person: ParticipantIdentity?
}

extension ModifyPlanning {
    /// Checks the sharing data of an operation. The transaction decides whether the record to share exists and may be
    /// shared.
    func planSharing(
        of record: RecordDictionary, type recordType: String, into planned: inout PlannedOperation
    ) throws {
        let isShare = recordType == ShareDictionary.recordType
        guard isShare == (planned.key.name == ShareDictionary.zoneShareName) || isShare else {
            throw ServiceError.invalid(
                "The record's name is reserved for the share of a zone; use another name.")
        }
        guard isShare || record.createShortGUID else { return }
        guard context.scope != .public else {
            throw ServiceError.wrongDatabase(
                "The public database has no shares; share records of the private database.")
        }
        // A participant cannot create links; the transaction decides who may change a share.
        let isOwner = context.scope == .private
        guard isOwner || isShare && planned.kind != .create else { throw ServiceError.notPermitted }
        guard planned.key.zoneName != ZoneID.defaultZoneName else {
            throw ServiceError.invalid(
                "A record of the default zone cannot be shared; use a custom zone.")
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
            throw ServiceError.invalid(
                "The share has a parent, which no share can have; leave it out.")
        }
        planned.share = PlannedShare(wanted: wanted, person: person)
    }
}

extension ModifyPlan {
    /// The identity of the caller for shares, when the request saves one.
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

    /// The short GUIDs that were made for the request.
    var shortGUIDs: [String] {
        items.compactMap { item in
            if case .ready(let operation) = item { operation.shortGUID } else { nil }
        }
    }

    /// Stores the targets of the links before the shares exist, so that a link that a client received is never lost.
    func registerShortGUIDs(
        in context: RequestContext, _ directory: any Directory
    ) async throws {
        let drawn = shortGUIDs
        guard !drawn.isEmpty, let owner = context.caller.userRecordName else { return }
        try await directory.put(
            drawn.map { ShortGUIDRow(shortGUID: $0, address: context.address, owner: owner) })
    }
}

/// The work that is left after a modify request's commit.
struct SharingOutcome: Sendable {
    /// Short GUIDs that were made and not needed, or belonged to shares that ended.
    var unusedShortGUIDs: [String] = []

    func forgetShortGUIDs(_ directory: any Directory, _ logger: Logger) async {
        guard !unusedShortGUIDs.isEmpty else { return }
        do {
            try await directory.deleteShortGUIDs(unusedShortGUIDs)
        } catch {
            // The links stay, but lead nowhere: the owner's database has no such share. The request itself succeeded.
            logger.warning(
                "The links of ended shares could not be removed from the directory. They stay there, and open nothing.",
                metadata: ["count": "\(unusedShortGUIDs.count)", "error": "\(error)"])
        }
    }
}
