import StratusMatching
import StratusQuery
import StratusRecords
import StratusSchema
import StratusStorage
import StratusWire

/// Finds records by their fields.
///
/// Where it is decided:
/// - which records the caller may read: `readAccess(to:_:in:)` here by grants, `visibleZones(named:_:)` here and
///   `ZoneRights.canRead(_:)` by zone and share;
/// - which filters and sort keys a record type allows: `FilterChecking`, and `RecordOrder` in RecordOrder+Schema.swift;
/// - how long a query may be: `RequestContext.checkLength(of:)`;
/// - where a page ends: `RequestContext.pageLength(_:)` by records, `RecordSearch` by bytes and by records read;
/// - whether a continuation marker belongs to the query: `ContinuationMarker`;
/// - what differs in the shared database: `sharedAnswer(_:in:_:)` in RecordsQuery+Shared.swift.
extension RecordsQuery: ServedEndpoint {
    public static let rules = EndpointRules<Self>(
        access: .read, effect: .idempotent, isCompressed: true,
        cost: { 1 + Double($0.query.filterBy.count + $0.query.sortBy.count) / 10 },
        zones: { [$0.zoneID.zoneName] },
        link: { $1.link(&$0.records) })

    public static func answer(_ call: EndpointCall<Self>) async throws -> Answer {
        var request = call.request
        try call.context.checkLength(of: request.query)
        request.query = request.query.naming(call.context.caller.userRecordName)
        guard request.query.recordType != UsersRecord.type else { throw ServiceError.systemType }
        try call.context.checkNames(call.request.desiredKeys)
        let stores = Stores(
            databases: call.components.databases, schemas: call.components.schemas,
            indexes: call.components.indexes, signer: try await call.components.tokenSigner())
        return try await answer(request, in: call.context, stores)
    }

    private static func result(
        _ found: RecordSearch.Found, of request: Request, in context: RequestContext
    ) throws -> RecordResult {
        .record(
            try RecordDictionary(
                found.row, in: context.zoneID(found.position.place.zoneName),
                keys: request.desiredKeys, numbersAsStrings: request.numbersAsStrings,
                viewer: context.caller.viewer))
    }

    /// What a query needs.
    struct Stores: Sendable {
        let databases: Databases
        let schemas: SchemaCache
        let indexes: IndexManager
        let signer: TokenSigner
    }

    /// How often a request continues the building of its index before it answers without records.
    private static let waits = 20

    static func answer(
        _ request: Request, in context: RequestContext, _ stores: Stores
    ) async throws -> Answer {
        let query = request.query
        let isZoneWide = request.zoneID == nil && request.isZoneWide && context.scope != .public
        guard let address = try context.databaseAddress() else {
            return try await sharedAnswer(request, in: context, stores)
        }
        let zoneName = try isZoneWide ? nil : context.existingZoneName(request.zoneID)
        let schema = try await stores.schemas.schema(of: context.address)
        let access = try readAccess(to: query.recordType, schema, in: context)
        let search = RecordSearch(
            matcher: try RecordMatcher(query, schema: schema),
            order: try RecordOrder(query, schema: schema),
            limit: context.pageLength(request.resultsLimit), limits: context.limits)
        let signer = stores.signer
        let database = ChangeToken.mark(of: address)
        let mark = try ContinuationMarker.mark(
            of: request, in: [zoneName ?? ""], search, context.caller.userRecordName)
        let start = try Self.start(of: request, for: search, in: database, mark, signer)
        let store = try await stores.databases.store(for: address)
        // A participant's queries must not take indexes from the owner's.
        let mayReplace = address.owner == nil || address.owner == context.caller.userRecordName
        func ask() async throws {
            context.work.add(
                entriesWritten: try await stores.indexes.prepare(
                    [query.recordType], asking: search.askedIndexes, mayReplace: mayReplace,
                    of: schema, in: store))
        }
        try await ask()
        func read() async throws -> (RecordSearch.Page, String?) {
            // On a heavy thread, a long read does not block other requests; switching to another thread would.
            try await store.read(context.isHeavy ? .page : .zone) { reader in
                (
                    try search.page(
                        of: reader,
                        in: context.visibleZones(named: zoneName, reader).map { zone, rights in
                            RecordSearch.Zone(row: zone) {
                                rights.canRead($0) && access.mayRead($0)
                            }
                        }, after: start),
                    try context.currentToken(of: request.zoneID, in: reader, signer: signer)
                )
            }
        }
        var (page, token) = try await read()
        for _ in 0..<waits where page.isWaiting {
            // Another query's indexes may have replaced them since.
            try await ask()
            context.work.add(entriesWritten: try await stores.indexes.buildFurther(in: store))
            (page, token) = try await read()
            if page.lacksIndex, !mayReplace { throw ServiceError.noRoomForIndex }
        }
        guard !page.lacksIndex else { throw ServiceError.indexIsBuilding }
        context.work.add(
            entriesWritten: await stores.indexes.entries(
                of: page.compound, mayReplace: mayReplace, recordType: query.recordType, schema,
                in: store))
        try context.hold(recordBytes: page.found.reduce(0) { $0 + $1.row.payload.count })
        context.work.add(recordsRead: page.scanned)
        context.work.add(entriesRead: page.entriesRead)
        return Answer(
            records: try page.found.map { try result($0, of: request, in: context) },
            continuationMarker: try page.next.map {
                try ContinuationMarker(
                    database: database, query: mark, position: $0
                ).text(encryptedBy: signer)
            },
            syncToken: token)
    }

    /// Where the page begins; nil at the beginning.
    private static func start(
        of request: Request, for search: RecordSearch, in database: [UInt8], _ mark: [UInt8],
        _ signer: TokenSigner
    ) throws -> QueryPosition? {
        try request.continuationMarker.map {
            try ContinuationMarker(
                text: $0, signer: signer, database: database, query: mark,
                keys: search.keysPerPosition
            ).position
        }
    }

    /// Which records of a type the caller may read.
    private static func readAccess(
        to recordType: String, _ schema: ContainerSchema, in context: RequestContext
    ) throws -> RecordAccess.OfType {
        guard schema.hasType(recordType) else {
            throw ServiceError(
                .notFound, "Did not find record type: \(recordType)",
                frameworkCode: .unknownItem)
        }
        let access = context.recordAccess(schema)[recordType]
        guard access.mayReadSome else { throw ServiceError.readNotPermitted }
        return access
    }
}

extension IndexManager {
    /// Builds the compound index that would speed up a page.
    ///
    /// - Returns: About how many entries it has.
    fileprivate func entries(
        of compound: IndexRow.Definition?, mayReplace: Bool, recordType: String,
        _ schema: ContainerSchema, in store: any RecordStore
    ) async -> Int {
        guard let compound else { return 0 }
        do {
            return try await prepare(
                [recordType], asking: [compound], mayReplace: mayReplace, of: schema, in: store)
        } catch {
            // The page has been read without the index. The next page asks for it again, also after a full disk.
            return 0
        }
    }
}

extension ServiceError {
    fileprivate static let noRoomForIndex = overLimit(
        """
        The owner's database has as many indexes as it may have, and none for this order of so many \
        records; filter more, or let the owner make the query once.
        """)
}

extension RequestContext {
    /// The zone with a name, or all zones of the database, as far as the caller may see them.
    ///
    /// - Throws: ``ServiceError`` when the named zone does not exist, or the caller may not see it.
    fileprivate func visibleZones(
        named name: String?, _ reader: any StoreReader
    ) throws -> [(row: ZoneRow, rights: ZoneRights)] {
        guard let name else {
            return try reader.zones().compactMap { try livingZone(named: $0.name, reader) }
        }
        return [try existingZone(named: name, reader)]
    }

    /// The name of the zone that a request means; throws when the caller can have no such zone.
    func existingZoneName(_ zoneID: ZoneIDDictionary?) throws -> String {
        guard let name = zoneName(zoneID) else { throw ServiceError.zoneNotFound }
        return name
    }
}
