import StratusRecords

/// `changes/database`: which zones changed since a token.
public enum ChangesDatabase: Endpoint {
    public static let path = "changes/database"

    public struct Request: Hashable, Sendable {
        /// Nil asks from the beginning.
        public var syncToken: String?
        public var resultsLimit: Int?

        public init(syncToken: String? = nil, resultsLimit: Int? = nil) {
            self.syncToken = syncToken
            self.resultsLimit = resultsLimit
        }
    }

    public struct Answer: Hashable, Sendable {
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
