import StratusRecords

/// `records/query`: finds records by their fields, page by page.
///
/// ```swift
/// var request = RecordsQuery.Request(query: QueryDictionary(recordType: "Hut"), resultsLimit: 50)
/// let answer = try readWire(RecordsQuery.Answer.self, from: body)
/// request.continuationMarker = answer.continuationMarker  // for the next page
/// ```
public enum RecordsQuery: Endpoint {
    public static let path = "records/query"

    public struct Request: WireObject, Hashable, Sendable {
        /// The records to find, and their order; the same on every page.
        public var query = QueryDictionary()
        /// Nil for the default zone, or for all zones with ``isZoneWide``.
        public var zoneID: ZoneIDDictionary?
        /// Queries all zones of the database; ignored when a zone is named.
        public var isZoneWide = false
        /// The most records in a page; nil, 0 and less are `Limits.recordsPerPage`.
        public var resultsLimit: Int?
        /// Where the previous page ended; it is valid only with the same query.
        public var continuationMarker: String?
        /// The names of the fields to return; nil for all of them, empty for none.
        public var desiredKeys: [String]?
        /// Whether INT64, DOUBLE and TIMESTAMP values, and lists of them, are strings in the answer.
        public var numbersAsStrings = false

        /// Makes a request for a page of a query's results.
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
        /// The matching records, without failures. A page may have none and still a ``continuationMarker``.
        public var records: [RecordResult] = []
        /// Nil on the last page.
        public var continuationMarker: String?
        /// The current change token of the request's zone, for requests with
        /// `getCurrentSyncToken=true`.
        public var syncToken: String?

        /// Makes a page of results; without a marker it is the last one.
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
