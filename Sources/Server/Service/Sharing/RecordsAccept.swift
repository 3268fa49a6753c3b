import StratusRecords
import StratusStorage
import StratusWire

extension RecordsAccept: ServedEndpoint {
    public static let rules = EndpointRules<Self>(
        access: .user, endsSession: false, isRepeatable: false,
        cost: { Double($0.items.count) / 40 }, zoneNames: { _ in [] },
        link: { $1.link(&$0.items) })

    /// Joins the shares that the links of a request lead to. Joining twice is joining once.
    ///
    /// The owner's database has the caller as a participant before the caller's has the zone: a crash
    /// between leaves somebody who may see a zone and does not know it, until he follows the link again.
    public static func answer(
        _ request: Request, in context: RequestContext, with components: ServiceComponents
    ) async throws -> Answer {
        Answer(
            try await context.shareMetadata(of: request, with: components) { followed in
                try await ShareJoining(
                    followed: followed, context: context, databases: components.databases,
                    records: components.records, settings: components.settings
                ).join()
            })
    }
}

/// Somebody who follows a link.
private struct ShareJoining: Sendable {
    let followed: FollowedLink
    let context: RequestContext
    let databases: Databases
    let records: RecordWriting
    /// Where a participant's identifier comes from.
    let settings: ServiceSettings

    private struct Joined {
        var metadata: ShareMetadataDictionary
        var zoneName: String
        var isOwner: Bool
    }

    /// - Throws: ``ServiceError`` as for a link that leads nowhere, when it is not for the person.
    func join() async throws -> ShareMetadataDictionary {
        let shared = try await SharedDatabase(context, databases)
        let zones = try await shared.zones()
        let joined = try await records.write(
            to: followed.link.store, by: context.user(), on: context.caller.device
        ) { try join(in: &$0, having: zones) }
        guard !joined.isOwner else { return joined.metadata }
        let (owner, name) = (followed.link.owner, joined.zoneName)
        let isNew = try await shared.own.write { writer in
            guard try writer.sharedZone(owner: owner, name: name)?.isDeleted != false else {
                return false
            }
            // Seen as nothing yet, so that the next look finds that it changed.
            try writer.put(
                SharedZoneRow(
                    owner: owner, name: name, seenVersion: 0, seenAccess: 0, isDeleted: false))
            return true
        }
        if isNew {
            try await records.notify(
                try context.user(), on: context.caller.device, ofJoined: name,
                in: followed.link.store)
        }
        return joined.metadata
    }

    private func join(
        in records: inout RecordWriter, having zones: [SharedZoneRow]
    ) throws -> Joined {
        let view = followed.view(in: context)
        var target = try followed.target(records.transaction)
        guard let part = view.part(in: target.share) else {
            throw view.potentialMatches(in: target.share).isEmpty
                ? ServiceError.shareNotFound : ServiceError.verificationNeeded
        }
        let isNew = !zones.contains {
            $0.owner == followed.link.owner && $0.name == target.zone.name
        }
        guard part.role == .owner || !isNew || zones.count < context.limits.zonesPerDatabase else {
            throw ServiceError.overLimit(
                "The user has as many zones as a user may have. Leave some before joining more.")
        }
        if part.status != .accepted {
            try target.share.join(followed.person, settings)
            target.row.modifiedMilliseconds = context.nowMilliseconds
            target.row.modifier = followed.person.userRecordName
            target.row.modifierDevice = context.caller.device
            try target.put(in: &records)
        }
        return Joined(
            metadata: try view.metadata(target, followed.asked, records.transaction),
            zoneName: target.zone.name,
            isOwner: part.role == .owner)
    }
}
