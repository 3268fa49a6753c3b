import Logging
import StratusRecords
import StratusSchema
import StratusStorage
import StratusWire

/// Lists what changed in zones since a change token.
///
/// Where it is decided:
/// - which databases have a feed: `checkFeed()` here; which zones: `ZoneFeed.page(_:room:)` here;
/// - whether a change token is still good: `ChangeTokens.read(_:knowing:for:_:)`;
/// - which changes the caller may see: `changes(in:seenWith:after:limit:payloadBytes:)` in ZoneRights.swift by share,
///   `ZoneFeed` by `RecordAccess`;
/// - where a page ends: `RequestContext.pageLength(_:)` by records, `changedBytesPerAnswer` by bytes, `ChangeCursor` by
///   whole requests;
/// - what differs in the shared database: `sharedAnswer(_:in:_:)` here.
extension ChangesZone: ServedEndpoint {
    /// Every caller who may read the public database may follow its changes.
    public static let rules = EndpointRules<Self>(
        access: .read, effect: .idempotent, isCompressed: true,
        cost: { Double($0.zones.count) / 10 },
        zones: { Set($0.zones.map(\.zoneID.zoneName)) },
        link: { answer, links in
            for index in answer.items.indices {
                guard case .success(var page) = answer.items[index] else { continue }
                // Emptied first: otherwise changing the first record would copy all records of the page.
                answer.items[index] = .success(
                    Page(zoneID: page.zoneID, records: [], syncToken: "", moreComing: false))
                links.link(&page.records)
                answer.items[index] = .success(page)
            }
        })

    /// A zone that cannot be served fails by itself; the others are answered.
    public static func answer(_ call: EndpointCall<Self>) async throws -> Answer {
        try call.context.checkFeed()
        try call.context.checkCount(call.request.zones.count)
        for item in call.request.zones {
            try call.context.checkNames(item.desiredKeys)
            try call.context.checkNames(item.desiredRecordTypes)
        }
        let names = call.request.zones.map { zone in
            ZoneIDDictionary(
                zoneName: zone.zoneID.zoneName,
                ownerRecordName: call.context.isOwner(zone.zoneID.ownerRecordName)
                    ? nil : zone.zoneID.ownerRecordName)
        }
        var seen: Set<ZoneIDDictionary> = []
        if let twice = names.first(where: { !seen.insert($0).inserted }) {
            // Otherwise one request could ask 400 times for the largest page of one zone.
            throw ServiceError.invalid(
                "The zone '\(twice.zoneName.prefix(255))' is named twice in the request; name it once."
            )
        }
        let stores = Stores(
            databases: call.components.databases, schemas: call.components.schemas,
            signer: try await call.components.tokenSigner(), logger: call.components.settings.logger
        )
        guard let address = try call.context.databaseAddress() else {
            return try await sharedAnswer(call.request, in: call.context, stores)
        }
        return try await answer(
            call.request, in: call.context, stores, address,
            room: call.context.limits.changedBytesPerAnswer)
    }

    /// What is needed to read a feed.
    struct Stores: Sendable {
        let databases: Databases
        let schemas: SchemaCache
        let signer: TokenSigner
        /// Gets a line when history was lost.
        let logger: Logger
    }

    /// - Parameter room: The bytes that the answer may have in records; every zone gets a page in any case.
    static func answer(
        _ request: Request, in context: RequestContext, _ stores: Stores,
        _ address: DatabaseAddress, room: Int
    ) async throws -> Answer {
        let access = try await context.recordAccess(by: stores.schemas)
        // Newest-first pages are found by reading from the oldest change on.
        guard !request.zones.contains(where: \.isReversed) else {
            return try await answer(request, in: context, stores, address, room, access, .zone)
        }
        do {
            return try await answer(request, in: context, stores, address, room, access, .page)
        } catch is ZoneFeed.IsNewestFirst {
            // Nothing failed: only the token says that the page is one of a newest-first fetch.
            return try await answer(request, in: context, stores, address, room, access, .zone)
        }
    }

    private static func answer(
        _ request: Request, in context: RequestContext, _ stores: Stores,
        _ address: DatabaseAddress, _ room: Int, _ access: RecordAccess, _ length: ReadLength
    ) async throws -> Answer {
        try await stores.databases.store(for: address).read(length) { reader in
            let tokens = context.changeTokens(
                stores.signer, of: address, reader, logger: stores.logger)
            let feed = ZoneFeed(
                reader: reader, tokens: tokens, context: context, access: access, length: length)
            var room = room
            return Answer(
                try request.zones.map { item in
                    let before = room
                    let page: Page
                    do {
                        page = try feed.page(item, room: &room)
                    } catch let error as ServiceError {
                        return .failure(ZoneFailure(zoneID: item.zoneID, error: error))
                    }
                    // Without memory the whole request is refused, not its zone: except beside a batch so large that
                    // the request would always be refused.
                    guard try context.hold(pageBytes: before - room) else {
                        return .failure(ZoneFailure(zoneID: item.zoneID, error: .memoryIsShort))
                    }
                    return .success(page)
                })
        }
    }
}

extension ChangesZone {
    private static func sharedAnswer(
        _ request: Request, in context: RequestContext, _ stores: Stores
    ) async throws -> Answer {
        let database = try await SharedDatabase(context, stores.databases)
        var room = context.limits.changedBytesPerAnswer
        let results: [Result] = try await database.answers(
            request.zones, zoneID: { $0.zoneID },
            refused: { .failure(ZoneFailure(zoneID: $0.zoneID, error: $1)) },
            from: { view, zones in
                guard let address = try view.databaseAddress() else { return [] }
                let part = try await answer(
                    Request(zones: zones), in: view, stores, address, room: room)
                for case .success(let page) in part.items { room -= page.records.storedBytes }
                return part.items
            })
        return Answer(results)
    }
}

extension RequestContext {
    /// Refuses databases without a change feed. The public one has a feed only for clients that use our extension.
    func checkFeed() throws {
        if scope == .public, !caller.wantsExtensions {
            throw ServiceError.wrongDatabase(
                "The public database has no change feed; query its records instead.")
        }
    }
}

/// The changes of zones, in one snapshot.
struct ZoneFeed {
    let reader: any StoreReader
    let tokens: ChangeTokens
    let context: RequestContext
    /// Records that the caller may not read are left out, and so are their deletions.
    let access: RecordAccess
    /// How much may be read.
    let length: ReadLength

    /// Thrown by a read of length `page` for a token that continues a newest-first fetch.
    struct IsNewestFirst: Error {}

    /// - Parameter room: The bytes that the answer has left for records; every zone gets a page in any case.
    /// - Throws: ``ServiceError`` when this zone cannot be served; ``IsNewestFirst``.
    func page(_ item: ChangesZone.Item, room: inout Int) throws -> ChangesZone.Page {
        guard let name = context.zoneName(item.zoneID) else { throw ServiceError.zoneNotFound }
        guard
            name != ZoneID.defaultZoneName || context.scope == .public || context.isForAccount
        else {
            throw ServiceError.noChangesInDefaultZone
        }
        let (zone, rights) = try context.existingZone(named: name, reader)
        let token = try tokens.read(
            item.syncToken, knowing: item.knownChangeTags, for: zone, rights.access)
        if token?.reverse != nil, length == .page { throw IsNewestFirst() }
        let cursor = ChangeCursor(
            version: token?.cursor ?? 0,
            skipTombstonesThrough: token?.skipTombstonesThrough ?? skippedTombstones(item, zone),
            device: item.deletionsAfterVersion == nil ? context.caller.device : nil,
            wantsWholeBatches: context.caller.wantsExtensions)
        return try item.isReversed || token?.reverse != nil
            ? newestFirst(item, zone, rights, cursor, token?.reverse, room: &room)
            : oldestFirst(item, zone, rights, cursor, room: &room)
    }

    /// The version up to which a fetch without a token leaves deletions out; purged ones no longer exist anyway.
    private func skippedTombstones(_ item: ChangesZone.Item, _ zone: ZoneRow) -> Int64 {
        item.deletionsAfterVersion.map { min(max($0, zone.purgeHorizon), zone.version) }
            ?? zone.version
    }

    private func oldestFirst(
        _ item: ChangesZone.Item, _ zone: ZoneRow, _ rights: ZoneRights, _ cursor: ChangeCursor,
        room: inout Int
    ) throws -> ChangesZone.Page {
        let changes = try reader.changes(
            in: zone.key, seenWith: rights, after: cursor,
            limit: context.pageLength(item.resultsLimit), payloadBytes: room)
        if changes.passedChanges > 0 { context.work.add(recordsRead: changes.passedChanges) }
        room -= changes.rows.reduce(0) { $0 + $1.payload.count }
        var page = ChangesZone.Page(
            zoneID: context.zoneID(zone.name), records: try results(changes.rows, item, zone),
            syncToken: try tokens.token(
                zone, access: rights.access, cursor: changes.version,
                skipTombstonesThrough: cursor.skipTombstonesThrough),
            moreComing: changes.moreComing)
        // Those of other types, or that the caller may not read, cost no bytes of an answer.
        let leftOut = changes.rows.count - page.records.count
        if leftOut > 0 { context.work.add(recordsRead: leftOut) }
        if changes.moreComing, context.caller.wantsExtensions, context.scope == .private {
            page.remainingChanges = max(0, zone.version - changes.version)
        }
        return page
    }

    /// Reads the feed from the cursor and keeps its newest part: the store can read in one direction only, so a page
    /// costs as much time as all changes since the cursor, but no more memory than a page.
    ///
    /// Changes that happen between two pages come with the first fetch after the last page.
    private func newestFirst(
        _ item: ChangesZone.Item, _ zone: ZoneRow, _ rights: ZoneRights, _ start: ChangeCursor,
        _ reverse: ChangeToken.Reverse?, room: inout Int
    ) throws -> ChangesZone.Page {
        let limit = context.pageLength(item.resultsLimit)
        let bounds = reverse ?? ChangeToken.Reverse(below: zone.version + 1, end: zone.version)
        var kept: [RecordRow] = []
        var keptBytes = 0
        var hasOlder = false
        var passed = 0
        var cursor = start
        while true {
            let changes = try reader.changes(
                in: zone.key, seenWith: rights, after: cursor,
                limit: context.limits.recordsPerPage,
                payloadBytes: context.limits.changedBytesPerAnswer)
            let new = changes.rows.prefix { $0.version < bounds.below }
            kept += new
            passed += new.count + changes.passedChanges
            keptBytes += new.reduce(0) { $0 + $1.payload.count }
            while let first = kept.first {
                // Whole requests are dropped where no page may end inside one; the newest stays.
                let request =
                    start.wantsWholeBatches
                    ? kept.prefix { $0.commitVersion == first.commitVersion } : kept.prefix(1)
                let rest = kept.count - request.count
                guard rest >= limit || keptBytes > room && rest > 0 else { break }
                keptBytes -= request.reduce(0) { $0 + $1.payload.count }
                kept.removeFirst(request.count)
                hasOlder = true
            }
            cursor.version = changes.version
            if !changes.moreComing || changes.version >= bounds.below { break }
        }
        room -= keptBytes
        context.work.add(recordsRead: passed - kept.count)
        let oldest = kept.first?.version ?? bounds.below
        return ChangesZone.Page(
            zoneID: context.zoneID(zone.name),
            records: try results(kept.reversed(), item, zone),
            syncToken: hasOlder
                ? try tokens.token(
                    zone, access: rights.access, cursor: start.version,
                    skipTombstonesThrough: start.skipTombstonesThrough,
                    reverse: ChangeToken.Reverse(below: oldest, end: bounds.end))
                : try tokens.token(
                    zone, access: rights.access, cursor: bounds.end,
                    skipTombstonesThrough: start.skipTombstonesThrough),
            moreComing: hasOlder)
    }

    private func results(
        _ rows: [RecordRow], _ item: ChangesZone.Item, _ zone: ZoneRow
    ) throws -> [RecordResult] {
        let types = item.desiredRecordTypes.map { Set($0) }
        let (zoneID, viewer) = (context.zoneID(zone.name), context.caller.viewer)
        var results: [RecordResult] = []
        // Most rows are in the answer; an array of large values that grows is copied each time.
        results.reserveCapacity(rows.count)
        for row in rows {
            if let types, !types.contains(row.type) { continue }
            guard access[row.type].mayRead(row) else { continue }
            // A feed must not reveal a list of all users.
            if row.type == UsersRecord.type, row.name != context.caller.userRecordName {
                continue
            }
            let result = try RecordResult(
                row, in: zoneID, keys: item.desiredKeys, numbersAsStrings: item.numbersAsStrings,
                tellsType: viewer.wantsExtensions, tellsCreation: item.deletionsAfterVersion != nil,
                viewer: viewer)
            results.append(result)
        }
        return results
    }
}
