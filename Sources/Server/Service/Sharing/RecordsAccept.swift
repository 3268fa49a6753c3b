import StratusRecords
import StratusRuntime
import StratusStorage
import StratusWire

extension RecordsAccept: ServedEndpoint {
    public static let rules = EndpointRules<Self>(
        access: .user, effect: .once, isCompressed: false,
        cost: { Double($0.items.count) / 40 }, zones: { _ in [] }, link: RecordsResolve.rules.link)

    /// Joins the shares of a request's links. Joining twice has the same effect as once.
    ///
    /// The owner's database gets the participant before the caller's database gets the zone. A crash in between leaves
    /// a participant who does not see the zone until following the link again.
    public static func answer(_ call: EndpointCall<Self>) async throws -> Answer {
        try await removeLostZones(before: call.request, in: call.context, call.components.databases)
        return try await call.context.shareMetadata(
            of: call.request, call.components.directory, call.components.databases
        ) { followed in
            try await ShareJoining(
                followed: followed, context: call.context, databases: call.components.databases,
                records: call.components.records, world: call.components.settings.world
            ).join()
        }
    }

    /// Removes the zones to which the caller lost access since the last fetch, if the request may bring more zones than
    /// a user may have: they take no places. Once for all links, since it looks into the database of every owner.
    private static func removeLostZones(
        before request: Request, in context: RequestContext, _ databases: Databases
    ) async throws {
        guard !context.caller.isServer else { return }
        let shared = try await SharedDatabase(context.viewingShared, databases)
        let count = try await shared.zones().count + request.items.count
        if count > context.limits.zonesPerDatabase { _ = try await shared.changes(after: .max) }
    }
}

/// A person who follows a link.
private struct ShareJoining: Sendable {
    private struct Joined {
        var metadata: ShareMetadataDictionary
        var zoneName: String
        var isOwner: Bool
        /// Whether the person gained access by it.
        var isNewcomer: Bool
    }

    let followed: FollowedLink
    let context: RequestContext
    let databases: Databases
    let records: RecordWriting
    /// Makes the participant's identifier.
    let world: World

    /// - Throws: ``ServiceError`` when the link is not for the person: the same as for an unknown link.
    func join() async throws -> ShareMetadataDictionary {
        let shared = try await SharedDatabase(context, databases)
        let zones = try await shared.zones()
        let joined = try await records.write(
            to: followed.link.store, by: context.user(), on: context.caller.device
        ) { try join(in: &$0, having: zones) }
        guard !joined.isOwner else { return joined.metadata }
        let (owner, name) = (followed.link.owner, joined.zoneName)
        let isNew = try await shared.own.write { writer in
            let isMissing = try writer.sharedZone(owner: owner, name: name)?.isDeleted != false
            guard isMissing || joined.isNewcomer else { return false }
            // Stored without anything seen, so that the next fetch finds a change. The row of a zone that was left is
            // stored again too: a fetch that looked before the joining must not store that the zone is gone.
            try writer.put(
                SharedZoneRow(
                    owner: owner, name: name, seenVersion: 0, seenAccess: 0, isDeleted: false))
            return isMissing
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
                "The user has \(context.limits.zonesPerDatabase) zones, the most allowed; leave some first."
            )
        }
        if part.status != .accepted {
            try target.share.join(followed.person, in: context, world)
            target.row.modifiedMilliseconds = context.nowMilliseconds
            target.row.modifier = followed.person.userRecordName
            target.row.modifierDevice = context.caller.device
            try target.put(in: &records)
        }
        return Joined(
            metadata: try view.metadata(target, followed.asked, records.transaction),
            zoneName: target.zone.name,
            isOwner: part.role == .owner, isNewcomer: part.status != .accepted)
    }
}
