import StratusRecords

/// `records/changes`: what changed in one zone since a token. Deprecated: ``ChangesZone`` asks for
/// several.
public enum RecordsChanges: Endpoint {
    public static let path = "records/changes"

    public struct Request: WireValue {
        /// Nil is the default zone, which has no change feed.
        public var zoneID: ZoneIDDictionary?
        /// Nil asks from the beginning.
        public var syncToken: String?
        public var resultsLimit: Int?
        public var desiredKeys: [String]?
        /// Newest first.
        public var isReversed: Bool
        public var numbersAsStrings: Bool

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
    }

    /// A stretch of the zone's changes, tombstones included; each record once, with its newest state.
    public struct Answer: WireValue {
        public var records: [RecordResult]
        public var syncToken: String
        public var moreComing: Bool

        public init(records: [RecordResult], syncToken: String, moreComing: Bool) {
            self.records = records
            self.syncToken = syncToken
            self.moreComing = moreComing
        }
    }
}

extension RecordsChanges.Request {
    public init(wire node: JSONNode) throws(WireError) {
        try node.expectObject()
        self.init(
            zoneID: try node.optional("zoneID"),
            syncToken: try node.optional("syncToken"),
            resultsLimit: try node.optional("resultsLimit"),
            desiredKeys: try node.optional("desiredKeys"),
            isReversed: try node.optional("reverse") ?? false,
            numbersAsStrings: try node.numbersAsStrings() ?? false)
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.optional("zoneID", zoneID)
            writer.optional("syncToken", syncToken)
            writer.optional("resultsLimit", resultsLimit)
            writer.optional("desiredKeys", desiredKeys)
            writer.flag("reverse", isReversed)
            writer.flag("numbersAsStrings", numbersAsStrings)
        }
    }
}

extension RecordsChanges.Answer {
    public init(wire node: JSONNode) throws(WireError) {
        self.init(
            records: try node.required("records"),
            syncToken: try node.required("syncToken"),
            moreComing: try node.optional("moreComing") ?? false)
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("records", records)
            writer.member("syncToken", syncToken)
            writer.member("moreComing", moreComing)
        }
    }
}
