import StratusRecords

/// `records/lookup`: fetches records by name.
public enum RecordsLookup: Endpoint {
    public static let path = "records/lookup"

    public struct Request: WireObject, Hashable, Sendable {
        public var records: [Item] = []
        public var zoneID: ZoneIDDictionary?
        public var desiredKeys: [String]?
        public var numbersAsStrings = false

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

    public struct Item: WireObject, Hashable, Sendable {
        public var recordName = ""
        /// Nil for the request's zone.
        public var zoneID: ZoneIDDictionary?
        public var desiredKeys: [String]?

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
