import StratusRecords

/// `changes/database`: which zones changed since a token.
public enum ChangesDatabase: Endpoint {
    public static let path = "changes/database"

    public struct Request: WireObject, Hashable, Sendable {
        /// Nil asks from the beginning.
        public var syncToken: String?
        public var resultsLimit: Int?

        public init(syncToken: String? = nil, resultsLimit: Int? = nil) {
            self.syncToken = syncToken
            self.resultsLimit = resultsLimit
        }

        public init() {}

        public mutating func members<C: WireCoder & ~Copyable>(_ coder: inout C) throws(C.Failure) {
            try coder.optional("syncToken", &syncToken)
            try coder.optional("resultsLimit", &resultsLimit)
        }
    }

    public struct Answer: WireObject, Hashable, Sendable {
        public var zones: [ZoneResult] = []
        public var syncToken = ""
        public var moreComing = false

        public init(zones: [ZoneResult], syncToken: String, moreComing: Bool) {
            self.zones = zones
            self.syncToken = syncToken
            self.moreComing = moreComing
        }

        public init() {}

        public mutating func members<C: WireCoder & ~Copyable>(_ coder: inout C) throws(C.Failure) {
            try coder.required("zones", &zones)
            try coder.required("syncToken", &syncToken)
            try coder.defaulted("moreComing", &moreComing)
        }
    }
}
