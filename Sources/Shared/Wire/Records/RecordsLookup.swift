import StratusRecords

/// `records/lookup`: fetches records by name.
public enum RecordsLookup: Endpoint {
    public static let path = "records/lookup"

    public struct Request: WireObject, Hashable, Sendable {
        /// The records to fetch; at most `Limits.operationsPerRequest`.
        public var records: [Item] = []
        /// The zone of items without a zone of their own; nil for the default zone.
        public var zoneID: ZoneIDDictionary?
        /// The names of the fields to return, for items without their own; nil for all of them, empty for none.
        public var desiredKeys: [String]?
        /// Whether INT64, DOUBLE and TIMESTAMP values, and lists of them, are strings in the answer.
        public var numbersAsStrings = false

        /// Makes a request for records by name.
        public init(
            records: [Item], zoneID: ZoneIDDictionary? = nil, desiredKeys: [String]? = nil,
            numbersAsStrings: Bool = false
        ) {
            self.records = records
            self.zoneID = zoneID
            self.desiredKeys = desiredKeys
            self.numbersAsStrings = numbersAsStrings
        }

        public init() {}

        public mutating func members<C: WireCoder & ~Copyable>(_ coder: inout C) throws(C.Failure) {
            try coder.required("records", &records)
            try coder.optional("zoneID", &zoneID)
            try coder.optional("desiredKeys", &desiredKeys)
            try coder.numbersAsStrings(&numbersAsStrings)
        }
    }

    /// A record to fetch, by name, with its zone and the fields to return.
    public struct Item: WireObject, Hashable, Sendable {
        /// The name of the record to fetch.
        public var recordName = ""
        /// Nil for the request's zone.
        public var zoneID: ZoneIDDictionary?
        /// The names of this record's fields to return; nil for the request's.
        public var desiredKeys: [String]?

        /// Names a record to fetch.
        public init(
            recordName: String, zoneID: ZoneIDDictionary? = nil, desiredKeys: [String]? = nil
        ) {
            self.recordName = recordName
            self.zoneID = zoneID
            self.desiredKeys = desiredKeys
        }

        public init() {}

        public mutating func members<C: WireCoder & ~Copyable>(_ coder: inout C) throws(C.Failure) {
            try coder.required("recordName", &recordName)
            try coder.optional("zoneID", &zoneID)
            try coder.optional("desiredKeys", &desiredKeys)
        }
    }

    public struct Answer: WireObject, Hashable, Sendable {
        /// One result per item or operation, in the request's order.
        public var records: [RecordResult] = []
        /// The current change token of the request's zone, for requests with
        /// `getCurrentSyncToken=true`.
        public var syncToken: String?

        /// Makes an answer with one result per item or operation.
        public init(records: [RecordResult], syncToken: String? = nil) {
            self.records = records
            self.syncToken = syncToken
        }

        public init() {}

        public mutating func members<C: WireCoder & ~Copyable>(_ coder: inout C) throws(C.Failure) {
            try coder.required("records", &records)
            try coder.optional("syncToken", &syncToken)
        }
    }
}
