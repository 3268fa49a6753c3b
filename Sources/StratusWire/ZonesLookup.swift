import StratusRecords

/// `zones/lookup`: fetches zones by name.
public enum ZonesLookup: Endpoint {
    public static let path = "zones/lookup"

    public struct Request: Hashable, Sendable {
        public var zones: [ZoneIDDictionary]

        public init(zones: [ZoneIDDictionary]) {
            self.zones = zones
        }
    }

    public typealias Answer = ZonesList.Answer
}
