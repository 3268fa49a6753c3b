import StratusRecords
import StratusStorage
import StratusWire

extension RecordsAccept: ServedEndpoint {
    public static let access = EndpointAccess.user
    public static let endsSession = false
    public static let isRepeatable = false
    public static let expiredTokens = ExpiredTokens<Self>.none

    public static func cost(of request: Request) -> Double { Double(request.items.count) / 40 }
    public static func zoneNames(in request: Request) -> Set<String> { [] }
    public static func link(_ answer: inout Answer, _ links: inout AssetLinks) {
        links.link(&answer.items)
    }

    /// Joins the shares that the links of a request lead to. Joining twice is joining once.
    ///
    /// The owner's database has the caller as a participant before the caller's has the zone: a crash
    /// between leaves somebody who may see a zone and does not know it, until he follows the link again.
    public static func answer(
        _ request: Request, in context: RequestContext, with components: ServiceComponents
    ) async throws -> Answer {
        try context.checkShortGUIDs(request)
        let person = try await context.participantIdentity(in: components.directory)
        var results: [ShareResult] = []
        var room = context.limits.recordBytesPerLookup
        for asked in request.items {
            do {
                guard room > 0 else { throw ServiceError.lookupTooLarge }
                let link = try await ShareLink(
                    asked.value, in: context, components.directory, components.databases)
                let joining = ShareJoining(
                    asked: asked, link: link, person: person.following(asked), context: context,
                    databases: components.databases, records: components.records,
                    settings: components.settings)
                let metadata = try await joining.join()
                room -= metadata.storedBytes
                results.append(.success(metadata))
            } catch let error as ServiceError {
                results.append(.failure(ShortGUIDFailure(shortGUID: asked, error: error)))
            }
        }
        return Answer(results)
    }
}

/// Somebody who follows a link.
private struct ShareJoining: Sendable {
    let asked: ShortGUIDDictionary
    let link: ShareLink
    let person: ParticipantIdentity
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
            to: link.store, by: context.user(), on: context.caller.device
        ) { try join(in: &$0, having: zones) }
        guard !joined.isOwner else { return joined.metadata }
        let (owner, name) = (link.owner, joined.zoneName)
        try await shared.own.write { writer in
            // Seen as nothing yet, so that the next look finds that it changed.
            if try writer.sharedZone(owner: owner, name: name)?.isDeleted != false {
                try writer.put(
                    SharedZoneRow(
                        owner: owner, name: name, seenVersion: 0, seenAccess: 0, isDeleted: false))
            }
        }
        return joined.metadata
    }

    private func join(
        in records: inout RecordWriter, having zones: [SharedZoneRow]
    ) throws -> Joined {
        let view = ShareView(context: context, person: person, owner: link.owner)
        var target = try ShareLink.Target(asked.value, records.transaction)
        guard let part = view.part(in: target.share) else {
            throw view.potentialMatches(in: target.share).isEmpty
                ? ServiceError.shareNotFound : ServiceError.verificationNeeded
        }
        let isNew = !zones.contains { $0.owner == link.owner && $0.name == target.zone.name }
        guard part.role == .owner || !isNew || zones.count < context.limits.zonesPerDatabase else {
            throw ServiceError.overLimit("Leave zones before joining more.")
        }
        if part.status != .accepted {
            try target.share.join(person, settings)
            target.row.modifiedMilliseconds = context.nowMilliseconds
            target.row.modifier = person.userRecordName
            target.row.modifierDevice = context.caller.device
            try target.put(in: &records)
        }
        return Joined(
            metadata: try view.metadata(target, asked, records.transaction),
            zoneName: target.zone.name,
            isOwner: part.role == .owner)
    }
}
