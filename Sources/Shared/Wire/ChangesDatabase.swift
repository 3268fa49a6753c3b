import StratusRecords

/// `changes/database`: which zones changed since a token.
public enum ChangesDatabase: Endpoint {
    public static let path = "changes/database"

    public struct Request: WireValue {
        /// Nil asks from the beginning.
        public var syncToken: String?
        public var resultsLimit: Int?

        public init(syncToken: String? = nil, resultsLimit: Int? = nil) {
            self.syncToken = syncToken
            self.resultsLimit = resultsLimit
        }
    }

    public struct Answer: WireValue {
        public var zones: [ZoneResult]
        public var syncToken: String
        public var moreComing: Bool

        public init(zones: [ZoneResult], syncToken: String, moreComing: Bool) {
            self.zones = zones
            self.syncToken = syncToken
            self.moreComing = moreComing
        }
    }
}

extension ChangesDatabase.Request {
    public init(wire node: JSONNode) throws(WireError) {
        try node.expectObject()
        self.init(
            syncToken: try node.optional("syncToken"),
            resultsLimit: try node.optional("resultsLimit"))
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.optional("syncToken", syncToken)
            writer.optional("resultsLimit", resultsLimit)
        }
    }
}

extension ChangesDatabase.Answer {
    public init(wire node: JSONNode) throws(WireError) {
        self.init(
            zones: try node.required("zones"),
            syncToken: try node.required("syncToken"),
            moreComing: try node.optional("moreComing") ?? false)
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("zones", zones)
            writer.member("syncToken", syncToken)
            writer.member("moreComing", moreComing)
        }
    }
}
