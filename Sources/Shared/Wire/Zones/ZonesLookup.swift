import StratusRecords

/// `zones/lookup`: fetches zones by name.
public enum ZonesLookup: Endpoint {
    public static let path = "zones/lookup"

    public struct Request: WireObject, Hashable, Sendable {
        public var zones: [ZoneIDDictionary] = []

        public init(zones: [ZoneIDDictionary]) {
            self.zones = zones
        }

        public init() {}

        public mutating func members<C: WireCoder & ~Copyable>(_ coder: inout C) throws(C.Failure) {
            try coder.required("zones", &zones)
        }
    }

    public typealias Answer = ZonesList.Answer
}
