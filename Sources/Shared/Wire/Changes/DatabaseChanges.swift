import StratusRecords

/// An endpoint that returns which zones of a database changed. The tokens of one are valid for the other.
public protocol DatabaseChanges: Endpoint
where Request == DatabaseChangesRequest<Self>, Answer == DatabaseChangesAnswer<Self> {
    /// The key of the change token in the request and the answer.
    static var tokenKey: StaticString { get }
}

/// The request of `changes/database` and `zones/changes`, which differ in the key of the token.
public struct DatabaseChangesRequest<Feed: DatabaseChanges>: WireObject, Hashable, Sendable {
    /// Nil starts from the beginning.
    public var syncToken: String?
    /// The most zones in a page; nil, 0 and less are `Limits.recordsPerPage`. A page is longer if the last zones
    /// changed in one request.
    public var resultsLimit: Int?
    /// Without a token: the version of the database up to which the device knows which zones were deleted. Zones that
    /// were deleted later are listed; without this version, none are. An extension.
    public var deletionsAfterVersion: Int64?
    /// Tokens of the database that the service returned when it created or deleted zones, and that no fetch has used:
    /// when the service has lost the history of one, it answers that the token of the request has expired. An
    /// extension.
    public var knownSyncTokens: [String]?

    /// The most known tokens that are read.
    public static var knownSyncTokenLimit: Int { 16 }

    /// Makes a request for a page of changed zones.
    public init(
        syncToken: String? = nil, resultsLimit: Int? = nil, deletionsAfterVersion: Int64? = nil,
        knownSyncTokens: [String]? = nil
    ) {
        self.knownSyncTokens = knownSyncTokens
        self.syncToken = syncToken
        self.resultsLimit = resultsLimit
        self.deletionsAfterVersion = deletionsAfterVersion
    }

    public init() {}

    public mutating func members<C: WireCoder & ~Copyable>(_ coder: inout C) throws(C.Failure) {
        try coder.optional(Feed.tokenKey, &syncToken)
        try coder.optional("resultsLimit", &resultsLimit)
        try coder.optional("deletionsAfterVersion", &deletionsAfterVersion)
        try coder.optional("knownSyncTokens", &knownSyncTokens)
    }
}

/// A page of the changed zones, the oldest change first.
public struct DatabaseChangesAnswer<Feed: DatabaseChanges>: WireObject, Hashable, Sendable {
    /// The changed zones, with identity and ``ZoneDictionary/isDeleted``; never the default zone.
    public var zones: [ZoneResult] = []
    /// The change token at the end of the page, for the next request.
    public var syncToken = ""
    /// Whether more changed zones follow this page.
    public var moreComing = false

    /// Makes a page of changed zones.
    public init(zones: [ZoneResult], syncToken: String, moreComing: Bool) {
        self.zones = zones
        self.syncToken = syncToken
        self.moreComing = moreComing
    }

    public init() {}

    public mutating func members<C: WireCoder & ~Copyable>(_ coder: inout C) throws(C.Failure) {
        try coder.required("zones", &zones)
        try coder.required(Feed.tokenKey, &syncToken)
        try coder.defaulted("moreComing", &moreComing)
    }
}
