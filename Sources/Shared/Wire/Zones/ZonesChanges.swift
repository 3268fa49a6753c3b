import StratusRecords

/// `zones/changes`: which zones changed since a token. Deprecated: ``ChangesDatabase`` says the same
/// under another token's name.
public enum ZonesChanges: Endpoint {
    public static let path = "zones/changes"

    public struct Request: WireValue {
        /// Nil asks from the beginning. Tokens of `changes/database` are as good.
        public var metaSyncToken: String?
        public var resultsLimit: Int?

        public init(metaSyncToken: String? = nil, resultsLimit: Int? = nil) {
            self.metaSyncToken = metaSyncToken
            self.resultsLimit = resultsLimit
        }
    }

    public struct Answer: WireValue {
        public var zones: [ZoneResult]
        public var metaSyncToken: String
        public var moreComing: Bool

        public init(zones: [ZoneResult], metaSyncToken: String, moreComing: Bool) {
            self.zones = zones
            self.metaSyncToken = metaSyncToken
            self.moreComing = moreComing
        }
    }
}

extension ZonesChanges.Request {
    public init(wire node: JSONNode) throws(WireError) {
        try node.expectObject()
        self.init(
            metaSyncToken: try node.optional("metaSyncToken"),
            resultsLimit: try node.optional("resultsLimit"))
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.optional("metaSyncToken", metaSyncToken)
            writer.optional("resultsLimit", resultsLimit)
        }
    }
}

extension ZonesChanges.Answer {
    public init(wire node: JSONNode) throws(WireError) {
        self.init(
            zones: try node.required("zones"),
            metaSyncToken: try node.required("metaSyncToken"),
            moreComing: try node.optional("moreComing") ?? false)
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("zones", zones)
            writer.member("metaSyncToken", metaSyncToken)
            writer.member("moreComing", moreComing)
        }
    }
}
