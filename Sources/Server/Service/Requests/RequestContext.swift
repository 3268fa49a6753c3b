import StratusMatching
import StratusRecords
import StratusSchema
import StratusStorage
import StratusWire

/// The values of a request that every rule may need: the caller, the container and database, and the time.
public struct RequestContext: Sendable {
    let caller: Caller
    let address: ContainerAddress
    /// Nil for endpoints without a database.
    private(set) var scope: DatabaseScope?
    /// The origin that precedes the paths of addresses in answers (``Credentials/serviceOrigin``).
    let origin: String
    var limits: Limits
    /// The service's memory that the request holds; nil in process.
    var memory: HeldMemory?
    /// How much of what is kept for repeated requests is kept for a week; nil for all of it.
    var outcomeRoom: OutcomeRoom?
    /// When the request is answered, in milliseconds since 1970: one moment for all of its work.
    var nowMilliseconds: Int64
    /// The cost of the work, beyond what the request itself shows.
    let work = RequestWork()
    /// Whether it is answered on a thread that may wait and compute for long.
    var isHeavy = false
    /// Whether it is made for an account's archive or its deletion: then the default zone is read like any other, no
    /// grant hides from a person what that person created, and shares are left for good.
    var isForAccount = false
    /// The owner whose zones this part of the request is about; only in the shared database.
    private(set) var viewedOwner: String?

    /// The database and the caller, for the log.
    var databasePath: String {
        let parts = [
            address.container, "\(address.environment)", scope.map { "\($0)" } ?? "-",
            caller.userRecordName ?? "-",
        ]
        return parts.joined(separator: "/")
    }

    /// The caller's user record name.
    func user() throws -> String {
        guard let user = caller.userRecordName else { throw ServiceError.signInNeeded }
        return user
    }

    /// The part of a request to the shared database that is about one owner's zones.
    func viewing(_ owner: String) -> RequestContext {
        var context = self
        context.viewedOwner = owner
        return context
    }

    /// The request as if it were about an owner's zones, in this database.
    func viewing(_ owner: String, in scope: DatabaseScope) -> RequestContext {
        var context = viewing(owner)
        context.scope = scope
        return context
    }

    /// The same caller's request to the shared database.
    var viewingShared: RequestContext {
        var context = self
        context.scope = .shared
        return context
    }

    /// Whether the request is about the shared database and not yet about one owner's part of it.
    var isSharedDatabase: Bool { scope == .shared && viewedOwner == nil }

    /// The stored database of the request; nil for the shared one as a whole, which is a view of other users'
    /// databases.
    func databaseAddress() throws -> DatabaseAddress? {
        switch scope {
        case .public: DatabaseAddress(address, .public)
        case .private: DatabaseAddress(address, .private(owner: try user()))
        case .shared: viewedOwner.map { DatabaseAddress(address, .private(owner: $0)) }
        case nil:
            throw ServiceError.invalid(
                "The request names no database. Name public, private or shared.")
        }
    }

    /// Counts records that were read for the answer.
    ///
    /// - Throws: ``ServiceError`` TRY_AGAIN_LATER when there is no memory for them.
    func hold(recordBytes: Int) throws(ServiceError) {
        // Each is in memory three times: as stored, as values, and as text.
        try memory?.takeIfFree(3 * recordBytes)
    }

    /// Counts the records of a page of changes.
    ///
    /// - Returns: False when there is no memory for them because another page of the answer is so large: a later request
    ///   gets this one.
    /// - Throws: ``ServiceError`` TRY_AGAIN_LATER when there is no memory for them otherwise.
    func hold(pageBytes: Int) throws(ServiceError) -> Bool {
        try memory?.takePage(3 * pageBytes) ?? true
    }

    /// Counts stored bytes of records that are read to be changed: once, since the changed record takes the place of
    /// the stored one.
    ///
    /// - Throws: ``ServiceError`` TRY_AGAIN_LATER when there is no memory for them.
    func hold(changedBytes: Int) throws(ServiceError) {
        try memory?.takeIfFree(changedBytes)
    }

    /// Refuses a request with more items than one request may have.
    func checkCount(_ count: Int) throws {
        guard count <= limits.operationsPerRequest else {
            throw ServiceError.tooManyItems(count, limit: limits.operationsPerRequest)
        }
    }

    /// Refuses a list of names that is longer than any record could need: it is compared with every record of the
    /// answer.
    func checkNames(_ names: [String]?) throws {
        guard (names?.count ?? 0) <= limits.fieldsPerRecord else {
            throw ServiceError.overLimit(
                """
                The request names more than \(limits.fieldsPerRecord) keys or record types; name fewer.
                """)
        }
    }

    /// Refuses a query that is too long to be compared with every record of its type.
    func checkLength(of query: QueryDictionary) throws {
        guard query.filterBy.count + query.sortBy.count <= limits.filtersPerQuery else {
            throw ServiceError.overLimit(
                "The query has more than \(limits.filtersPerQuery) filters and sort keys; give it fewer."
            )
        }
        guard query.filterBy.reduce(0, { $0 + $1.valueBytes }) <= limits.filterBytesPerQuery else {
            throw ServiceError.overLimit(
                """
                The values of the query's filters have more than \(limits.filterBytesPerQuery) bytes \
                together; give shorter ones.
                """)
        }
        for filter in query.filterBy where filter.value.longestBytes > limits.filterValueBytes {
            let name =
                switch filter.field {
                case .user(let name): name
                case .system(let field): field.rawValue
                }
            throw ServiceError.overLimit(
                """
                The filter of "\(name)" has a value of more than \(limits.filterValueBytes) bytes; \
                give a shorter one.
                """)
        }
        guard
            query.filterBy.allSatisfy({ filter in
                let isSearch = [.containsAllTokens, .containsAnyTokens].contains(filter.comparator)
                let count =
                    isSearch ? filter.value.searchTokens.count : filter.value.members?.count ?? 0
                return count <= limits.valuesPerFilter
            })
        else {
            throw ServiceError.overLimit(
                "A filter has more than \(limits.valuesPerFilter) values; give it fewer.")
        }
    }

    /// The number of results in a page: at most CloudKit's, unless a client that knows our extensions asks for more.
    func pageLength(_ resultsLimit: Int?) -> Int {
        guard let resultsLimit, resultsLimit > 0 else { return limits.recordsPerPage }
        let most =
            caller.wantsExtensions
            ? limits.maximumRecordsPerPage
            : min(
                limits.maximumRecordsPerPage,
                max(Limits.documentedRecordsPerPage, limits.recordsPerPage))
        return min(resultsLimit, most)
    }

    // MARK: Zones

    /// The owner's name in the zone identifiers of answers.
    ///
    /// In the public database it is `__defaultOwner__` for everyone, as in the framework.
    var zoneOwner: String {
        switch scope {
        case .private: caller.userRecordName ?? ZoneID.currentUserName
        case .shared: viewedOwner ?? ZoneID.currentUserName
        case .public, nil: ZoneID.currentUserName
        }
    }

    /// The name of the zone that a request means; nil when the caller can have no such zone: another owner's, a custom
    /// zone of the public database, or a default zone of the shared one. ``ZoneRights`` decides whether the zone exists
    /// and what the caller can see of it.
    func zoneName(_ zoneID: ZoneIDDictionary?) -> String? {
        if scope == .shared {
            guard let zoneID, let viewedOwner, zoneID.ownerRecordName == viewedOwner,
                zoneID.zoneName != ZoneID.defaultZoneName
            else { return nil }
            return zoneID.zoneName
        }
        guard let zoneID else { return ZoneID.defaultZoneName }
        guard isOwner(zoneID.ownerRecordName) else { return nil }
        if scope == .public, zoneID.zoneName != ZoneID.defaultZoneName { return nil }
        return zoneID.zoneName
    }

    /// Whether a zone identifier's owner means the caller or, in the public database, everyone.
    func isOwner(_ name: String?) -> Bool {
        guard let name, name != ZoneID.currentUserName else { return true }
        if scope == .shared { return name == viewedOwner }
        return name == caller.userRecordName || scope == .public && name == "_defaultOwner"
    }

    // MARK: Grants

    /// What grants allow the caller in the database of the request, by the current schema.
    func recordAccess(by schemas: SchemaCache) async throws -> RecordAccess {
        guard scope == .public else { return .unrestricted }
        return recordAccess(try await schemas.schema(of: address))
    }

    /// What grants allow the caller in the database of the request.
    func recordAccess(_ schema: ContainerSchema) -> RecordAccess {
        if isForAccount, scope == .public, let user = caller.userRecordName {
            return RecordAccess(ofAccount: user)
        }
        return scope == .public
            ? RecordAccess(ofUser: caller.userRecordName, schema: schema) : .unrestricted
    }

    // MARK: The token for callers who send `getCurrentSyncToken`

    /// A zone's change token in this snapshot; nil for a zone without a change feed, and for callers who did not ask
    /// for it.
    func currentToken(
        of zoneID: ZoneIDDictionary?, in reader: any StoreReader, signer: TokenSigner
    ) throws -> String? {
        guard caller.wantsSyncToken, let name = zoneName(zoneID),
            let address = try databaseAddress(),
            let (zone, rights) = try livingZone(named: name, reader), zone.hasFeed
        else { return nil }
        let tokens = ChangeTokens(
            signer: signer, address: address, reader: reader,
            nowMilliseconds: nowMilliseconds)
        return try tokens.token(zone, access: rights.access, cursor: zone.version)
    }

    /// A zone's identifier for an answer.
    func zoneID(_ name: String) -> ZoneIDDictionary {
        ZoneIDDictionary(
            zoneName: name, ownerRecordName: zoneOwner,
            zoneType: name == ZoneID.defaultZoneName ? "DEFAULT_ZONE" : "REGULAR_CUSTOM_ZONE")
    }
}

extension ZoneIDDictionary? {
    /// The name of the zone that a request means; no identifier means the default zone.
    var zoneName: String { self?.zoneName ?? ZoneID.defaultZoneName }
}
