import StratusRecords

/// `records/lookup`: fetches records by name.
public enum RecordsLookup: Endpoint {
    public static let path = "records/lookup"

    public struct Request: WireValue {
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

    public struct Item: WireValue {
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

    public struct Answer: WireValue {
        /// One result per item, in the request's order.
        public var records: [RecordResult]
        /// Where the request's zone stands now, for who asks with `getCurrentSyncToken=true`.
        public var syncToken: String?

        public init(records: [RecordResult], syncToken: String? = nil) {
            self.records = records
            self.syncToken = syncToken
        }
    }
}

extension RecordsLookup.Request {
    public init(wire node: JSONNode) throws(WireError) {
        try node.expectObject()
        self.init(
            records: try node.required("records"),
            zoneID: try node.optional("zoneID"),
            desiredKeys: try node.optional("desiredKeys"),
            numbersAsStrings: try node.numbersAsStrings() ?? false)
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("records", records)
            writer.optional("zoneID", zoneID)
            writer.optional("desiredKeys", desiredKeys)
            writer.flag("numbersAsStrings", numbersAsStrings)
        }
    }
}

extension RecordsLookup.Item {
    public init(wire node: JSONNode) throws(WireError) {
        try node.expectObject()
        self.init(
            recordName: try node.required("recordName"),
            zoneID: try node.optional("zoneID"),
            desiredKeys: try node.optional("desiredKeys"))
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("recordName", recordName)
            writer.optional("zoneID", zoneID)
            writer.optional("desiredKeys", desiredKeys)
        }
    }
}

extension RecordsLookup.Answer {
    public init(wire node: JSONNode) throws(WireError) {
        self.init(
            records: try node.required("records"), syncToken: try node.optional("syncToken"))
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("records", records)
            writer.optional("syncToken", syncToken)
        }
    }
}
