import StratusRecords

/// `records/changes`: what changed in one zone since a token. Deprecated: ``ChangesZone`` takes several.
public enum RecordsChanges: Endpoint {
    public static let path = "records/changes"

    public struct Request: WireObject, Hashable, Sendable {
        /// Nil for the default zone, which has no change feed.
        public var zoneID: ZoneIDDictionary?
        /// Nil starts from the beginning.
        public var syncToken: String?
        public var resultsLimit: Int?
        public var desiredKeys: [String]?
        /// Newest first.
        public var isReversed = false
        public var numbersAsStrings = false

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
        public var records: [RecordResult] = []
        public var syncToken = ""
        public var moreComing = false

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
