import StratusRecords

/// `changes/zone`: what changed in zones since their tokens.
public enum ChangesZone: Endpoint {
    public static let path = "changes/zone"

    public struct Request: Hashable, Sendable {
        public var zones: [Item]

        public init(zones: [Item]) {
            self.zones = zones
        }
    }

    /// One zone of the request. Defaults that stood at the top of the body are filled in at reading.
    public struct Item: Hashable, Sendable {
        public var zoneID: ZoneIDDictionary
        /// Nil asks from the beginning.
        public var syncToken: String?
        public var resultsLimit: Int?
        public var desiredKeys: [String]?
        public var desiredRecordTypes: [String]?
        /// Newest first.
        public var isReversed: Bool
        public var numbersAsStrings: Bool

        public init(
            zoneID: ZoneIDDictionary, syncToken: String? = nil, resultsLimit: Int? = nil,
            desiredKeys: [String]? = nil, desiredRecordTypes: [String]? = nil,
            isReversed: Bool = false, numbersAsStrings: Bool = false
        ) {
            self.zoneID = zoneID
            self.syncToken = syncToken
            self.resultsLimit = resultsLimit
            self.desiredKeys = desiredKeys
            self.desiredRecordTypes = desiredRecordTypes
            self.isReversed = isReversed
            self.numbersAsStrings = numbersAsStrings
        }
    }

    public struct Answer: Hashable, Sendable {
        /// One result per zone, in the request's order.
        public var zones: [Result]

        public init(zones: [Result]) {
            self.zones = zones
        }
    }

    public enum Result: Hashable, Sendable {
        case page(Page)
        case failure(ZoneFailure)
    }

    /// A stretch of a zone's changes, oldest first; each record once, with its newest state.
    public struct Page: Hashable, Sendable {
        public var zoneID: ZoneIDDictionary
        public var records: [RecordResult]
        public var syncToken: String
        public var moreComing: Bool

        public init(
            zoneID: ZoneIDDictionary, records: [RecordResult], syncToken: String, moreComing: Bool
        ) {
            self.zoneID = zoneID
            self.records = records
            self.syncToken = syncToken
            self.moreComing = moreComing
        }
    }
}
