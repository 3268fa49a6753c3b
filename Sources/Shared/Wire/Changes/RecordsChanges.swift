import StratusRecords

/// `records/changes`: what changed in one zone since a token. Deprecated: ``ChangesZone`` takes several.
public enum RecordsChanges: Endpoint {
    public static let path = "records/changes"

    public struct Request: WireObject, Hashable, Sendable {
        /// Nil for the default zone, which has a change feed only in the public database, as an extension.
        public var zoneID: ZoneIDDictionary?
        /// Nil starts from the beginning.
        public var syncToken: String?
        /// The most records in a page, as in ``ChangesZone/Item/resultsLimit``.
        public var resultsLimit: Int?
        /// The names of the fields to return; nil for all of them, empty for none.
        public var desiredKeys: [String]?
        /// Newest first.
        public var isReversed = false
        /// Whether INT64, DOUBLE and TIMESTAMP values, and lists of them, are strings in the answer.
        public var numbersAsStrings = false

        /// Makes a request for a page of a zone's changes.
        public init(
            zoneID: ZoneIDDictionary?, syncToken: String? = nil, resultsLimit: Int? = nil,
            desiredKeys: [String]? = nil, isReversed: Bool = false, numbersAsStrings: Bool = false
        ) {
            self.zoneID = zoneID
            self.syncToken = syncToken
            self.resultsLimit = resultsLimit
            self.desiredKeys = desiredKeys
            self.isReversed = isReversed
            self.numbersAsStrings = numbersAsStrings
        }

        public init() {}

        public mutating func members<C: WireCoder & ~Copyable>(_ coder: inout C) throws(C.Failure) {
            try coder.optional("zoneID", &zoneID)
            try coder.optional("syncToken", &syncToken)
            try coder.optional("resultsLimit", &resultsLimit)
            try coder.optional("desiredKeys", &desiredKeys)
            try coder.flag("reverse", &isReversed)
            try coder.numbersAsStrings(&numbersAsStrings)
        }
    }

    /// A page of the zone's changes, tombstones included; each record once, with its newest state.
    public struct Answer: WireObject, Hashable, Sendable {
        /// The changed records, and tombstones of the deleted ones.
        public var records: [RecordResult] = []
        /// The change token at the end of the page, for the next request.
        public var syncToken = ""
        /// Whether more changes follow this page.
        public var moreComing = false

        /// Makes a page of a zone's changes.
        public init(records: [RecordResult], syncToken: String, moreComing: Bool) {
            self.records = records
            self.syncToken = syncToken
            self.moreComing = moreComing
        }

        public init() {}

        public mutating func members<C: WireCoder & ~Copyable>(_ coder: inout C) throws(C.Failure) {
            try coder.required("records", &records)
            try coder.required("syncToken", &syncToken)
            try coder.defaulted("moreComing", &moreComing)
        }
    }
}
