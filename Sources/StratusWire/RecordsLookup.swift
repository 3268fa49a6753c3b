import StratusRecords

/// `records/lookup`: fetches records by name.
public enum RecordsLookup: Endpoint {
    public static let path = "records/lookup"

    public struct Request: Hashable, Sendable {
        public var records: [Item]
        public var zoneID: ZoneIDDictionary?
        public var desiredKeys: [String]?
        public var numbersAsStrings: Bool

        public init(
            records: [Item], zoneID: ZoneIDDictionary? = nil, desiredKeys: [String]? = nil,
            numbersAsStrings: Bool = false
        ) {
            self.records = records
            self.zoneID = zoneID
            self.desiredKeys = desiredKeys
            self.numbersAsStrings = numbersAsStrings
        }
    }

    public struct Item: Hashable, Sendable {
        public var recordName: String
        /// Nil is the request's zone.
        public var zoneID: ZoneIDDictionary?
        public var desiredKeys: [String]?

        public init(
            recordName: String, zoneID: ZoneIDDictionary? = nil, desiredKeys: [String]? = nil
        ) {
            self.recordName = recordName
            self.zoneID = zoneID
            self.desiredKeys = desiredKeys
        }
    }

    public struct Answer: Hashable, Sendable {
        /// One result per item, in the request's order.
        public var records: [RecordResult]

        public init(records: [RecordResult]) {
            self.records = records
        }
    }
}
