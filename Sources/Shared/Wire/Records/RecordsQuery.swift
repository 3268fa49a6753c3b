import StratusRecords

/// `records/query`: finds records by their fields, page by page.
public enum RecordsQuery: Endpoint {
    public static let path = "records/query"

    public struct Request: WireObject, Hashable, Sendable {
        public var query = QueryDictionary()
        /// Nil for the default zone, or for all zones with ``isZoneWide``.
        public var zoneID: ZoneIDDictionary?
        /// Queries all zones of the database; ignored when a zone is named.
        public var isZoneWide = false
        public var resultsLimit: Int?
        /// Where the previous page ended; it is valid only with the same query.
        public var continuationMarker: String?
        public var desiredKeys: [String]?
        public var numbersAsStrings = false

        public init(
            query: QueryDictionary, zoneID: ZoneIDDictionary? = nil, isZoneWide: Bool = false,
            resultsLimit: Int? = nil, continuationMarker: String? = nil,
            desiredKeys: [String]? = nil, numbersAsStrings: Bool = false
        ) {
            self.query = query
            self.zoneID = zoneID
            self.isZoneWide = isZoneWide
            self.resultsLimit = resultsLimit
            self.continuationMarker = continuationMarker
            self.desiredKeys = desiredKeys
            self.numbersAsStrings = numbersAsStrings
        }

        public init() {}

        public mutating func members<C: WireCoder & ~Copyable>(_ coder: inout C) throws(C.Failure) {
            try coder.required("query", &query)
            try coder.optional("zoneID", &zoneID)
            try coder.flag("zoneWide", &isZoneWide)
            try coder.optional("resultsLimit", &resultsLimit)
            try coder.optional("continuationMarker", &continuationMarker)
            try coder.optional("desiredKeys", &desiredKeys)
            try coder.numbersAsStrings(&numbersAsStrings)
        }
    }

    public struct Answer: WireObject, Hashable, Sendable {
        public var records: [RecordResult] = []
        /// Nil on the last page.
        public var continuationMarker: String?
        /// The current change token of the request's zone, for requests with
        /// `getCurrentSyncToken=true`.
        public var syncToken: String?

        public init(
            records: [RecordResult], continuationMarker: String? = nil, syncToken: String? = nil
        ) {
            self.records = records
            self.continuationMarker = continuationMarker
            self.syncToken = syncToken
        }

        public init() {}

        public mutating func members<C: WireCoder & ~Copyable>(_ coder: inout C) throws(C.Failure) {
            try coder.required("records", &records)
            try coder.optional("continuationMarker", &continuationMarker)
            try coder.optional("syncToken", &syncToken)
        }
    }
}
