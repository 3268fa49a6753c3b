import StratusRecords

/// `zones/changes`: which zones changed since a token. Deprecated: ``ChangesDatabase`` says the same
/// under another token's name.
public enum ZonesChanges: Endpoint {
    public static let path = "zones/changes"

    public struct Request: WireObject, Hashable, Sendable {
        /// Nil asks from the beginning. Tokens of `changes/database` are as good.
        public var metaSyncToken: String?
        public var resultsLimit: Int?

        public init(metaSyncToken: String? = nil, resultsLimit: Int? = nil) {
            self.metaSyncToken = metaSyncToken
            self.resultsLimit = resultsLimit
        }

        public init() {}

        public mutating func members<C: WireCoder & ~Copyable>(_ coder: inout C) throws(C.Failure) {
            try coder.optional("metaSyncToken", &metaSyncToken)
            try coder.optional("resultsLimit", &resultsLimit)
        }
    }

    public struct Answer: WireObject, Hashable, Sendable {
        public var zones: [ZoneResult] = []
        public var metaSyncToken = ""
        public var moreComing = false

        public init(zones: [ZoneResult], metaSyncToken: String, moreComing: Bool) {
            self.zones = zones
            self.metaSyncToken = metaSyncToken
            self.moreComing = moreComing
        }

        public init() {}

        public mutating func members<C: WireCoder & ~Copyable>(_ coder: inout C) throws(C.Failure) {
            try coder.required("zones", &zones)
            try coder.required("metaSyncToken", &metaSyncToken)
            try coder.defaulted("moreComing", &moreComing)
        }
    }
}
