import StratusRecords

/// `zones/list`: all zones of a database.
public enum ZonesList: Endpoint {
    public static let path = "zones/list"
    public static let isReadWithoutBody = true

    public typealias Request = EmptyBody

    public struct Answer: Hashable, Sendable {
        public var zones: [ZoneResult]

        public init(zones: [ZoneResult]) {
            self.zones = zones
        }
    }
}
