import Logging
import StratusRecords
import StratusStorage
import StratusWire

extension ChangesDatabase: ServedEndpoint {
    public static let rules = EndpointRules<Self>(
        access: .user, effect: .idempotent, isCompressed: true,
        cost: { _ in 0 }, zones: { _ in [] }, link: { _, _ in })

    /// A fetch without a token leaves out zones that were deleted before it began, or before the version in the
    /// request.
    public static func answer(_ call: EndpointCall<Self>) async throws -> Answer {
        if call.context.scope == .public {
            throw ServiceError.wrongDatabase(
                "The public database has no change feed; query its records instead.")
        }
        return try await answer(
            call.request, in: call.context, call.components.databases,
            try await call.components.tokenSigner(),
            call.components.settings.logger)
    }

    /// - Parameter logger: Gets a line when history was lost.
    static func answer(
        _ request: Request, in context: RequestContext, _ databases: Databases,
        _ signer: TokenSigner, _ logger: Logger
    ) async throws -> Answer {
        guard let address = try context.databaseAddress() else {
            return try await sharedAnswer(request, in: context, databases, signer, logger)
        }
        return try await databases.store(for: address).read { reader in
            let version = try reader.databaseVersion
            let tokens = context.changeTokens(signer, of: address, reader, logger: logger)
            let token = try tokens.readDatabaseToken(
                request.syncToken, knowing: request.knownSyncTokens ?? [], version: version)
            let skip =
                token?.skipTombstonesThrough
                ?? request.deletionsAfterVersion.map { min(max($0, 0), version) } ?? version
            let page = try Self.page(
                of: reader, after: token?.cursor ?? 0, deletedAfter: skip,
                limit: context.pageLength(request.resultsLimit)
            ) { row in
                row.hasFeed && row.name != ZoneID.defaultZoneName
            }
            context.work.add(zonesRead: page.rows.count)
            return Answer(
                zones: page.rows.map { .success(ZoneDictionary(changed: $0, in: context)) },
                syncToken: try tokens.databaseToken(
                    cursor: page.end ?? version, skipTombstonesThrough: skip),
                moreComing: page.end != nil)
        }
    }

    /// Zones after a cursor that are to be listed, and where the page ends; nil when it is the last one.
    ///
    /// Zones that one request changed have the same database version, and no page ends between them. Zones that are not
    /// listed do not count, so that no page is empty while more is coming.
    private static func page(
        of reader: any StoreReader, after cursor: Int64, deletedAfter skip: Int64, limit: Int,
        listing isListed: (ZoneRow) -> Bool
    ) throws -> (rows: [ZoneRow], end: Int64?) {
        var asked = limit + 1
        while true {
            let rows = try reader.zones(
                changedAfter: cursor, deletedAfter: skip, limit: asked)
            let isAll = rows.count < asked
            // There may be more zones of the last version than were read.
            let whole = rows.filter {
                isAll || $0.changedAtDatabaseVersion < rows[rows.count - 1].changedAtDatabaseVersion
            }
            let listed = whole.filter(isListed)
            if listed.count > limit || listed.count == limit && !isAll {
                let end = listed[limit - 1].changedAtDatabaseVersion
                let page = listed.filter { $0.changedAtDatabaseVersion <= end }
                return (page, isAll && page.count == listed.count ? nil : end)
            }
            if isAll { return (listed, nil) }
            asked *= 2
        }
    }
}

extension ChangesDatabase {
    /// A zone to which the caller lost access appears as deleted in their shared database.
    private static func sharedAnswer(
        _ request: Request, in context: RequestContext, _ databases: Databases,
        _ signer: TokenSigner, _ logger: Logger
    ) async throws -> Answer {
        let database = try await SharedDatabase(context, databases)
        let token = try await database.own.read { reader in
            try database.tokens(signer, reader, logger).readDatabaseToken(
                request.syncToken, knowing: request.knownSyncTokens ?? [],
                version: try reader.databaseVersion)
        }
        let changes = try await database.changes(after: token?.cursor ?? 0)
        let skip = token?.skipTombstonesThrough ?? changes.version
        // Every change has its own database version, so a page may end anywhere.
        let listed = changes.zones.filter { !$0.isDeleted || $0.changedAtDatabaseVersion > skip }
        let page = listed.prefix(context.pageLength(request.resultsLimit))
        let moreComing = page.count < listed.count
        let end = moreComing ? page.last?.changedAtDatabaseVersion : nil
        let syncToken = try await database.own.read { reader in
            try database.tokens(signer, reader).databaseToken(
                cursor: end ?? changes.version, skipTombstonesThrough: skip)
        }
        return Answer(
            zones: page.map { row in
                let zoneID = context.viewing(row.owner).zoneID(row.name)
                var zone = ZoneDictionary(zoneID: zoneID, isDeleted: row.isDeleted)
                if row.isDeleted, context.caller.wantsExtensions { zone.deletionReason = "deleted" }
                return .success(zone)
            },
            syncToken: syncToken, moreComing: moreComing)
    }
}

extension ZoneDictionary {
    /// A zone of the database's change feed: it exists, or it was deleted for the given reason.
    init(changed row: ZoneRow, in context: RequestContext) {
        self.init(zoneID: context.zoneID(row.name), isDeleted: row.deletion != nil)
        guard context.caller.wantsExtensions else { return }
        generation = row.generation
        deletionReason =
            switch row.deletion {
            case .deleted: "deleted"
            case .purged: "purged"
            case .encryptedDataReset: "encryptedDataReset"
            case nil: nil
            }
    }
}
