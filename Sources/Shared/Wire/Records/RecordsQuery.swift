import StratusRecords

/// `records/query`: finds records by their fields, page by page.
public enum RecordsQuery: Endpoint {
    public static let path = "records/query"

    public struct Request: WireValue {
        public var query: QueryDictionary
        /// Nil is the default zone, or all zones with ``isZoneWide``.
        public var zoneID: ZoneIDDictionary?
        /// Asks all zones of the database; ignored when a zone is named.
        public var isZoneWide: Bool
        public var resultsLimit: Int?
        /// Where the previous page ended; the same query must come with it.
        public var continuationMarker: String?
        public var desiredKeys: [String]?
        public var numbersAsStrings: Bool

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
    }

    public struct Answer: WireValue {
        public var records: [RecordResult]
        /// Nil on the last page.
        public var continuationMarker: String?
        /// Where the request's zone stands now, for who asks with `getCurrentSyncToken=true`.
        public var syncToken: String?

        public init(
            records: [RecordResult], continuationMarker: String? = nil, syncToken: String? = nil
        ) {
            self.records = records
            self.continuationMarker = continuationMarker
            self.syncToken = syncToken
        }
    }
}

extension RecordsQuery.Request {
    public init(wire node: JSONNode) throws(WireError) {
        try node.expectObject()
        self.init(
            query: try node.required("query"),
            zoneID: try node.optional("zoneID"),
            isZoneWide: try node.optional("zoneWide") ?? false,
            resultsLimit: try node.optional("resultsLimit"),
            continuationMarker: try node.optional("continuationMarker"),
            desiredKeys: try node.optional("desiredKeys"),
            numbersAsStrings: try node.numbersAsStrings() ?? false)
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("query", query)
            writer.optional("zoneID", zoneID)
            writer.flag("zoneWide", isZoneWide)
            writer.optional("resultsLimit", resultsLimit)
            writer.optional("continuationMarker", continuationMarker)
            writer.optional("desiredKeys", desiredKeys)
            writer.flag("numbersAsStrings", numbersAsStrings)
        }
    }
}

extension RecordsQuery.Answer {
    public init(wire node: JSONNode) throws(WireError) {
        self.init(
            records: try node.required("records"),
            continuationMarker: try node.optional("continuationMarker"),
            syncToken: try node.optional("syncToken"))
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("records", records)
            writer.optional("continuationMarker", continuationMarker)
            writer.optional("syncToken", syncToken)
        }
    }
}
