import StratusRecords

/// `zones/lookup`: fetches zones by name.
public enum ZonesLookup: Endpoint {
    public static let path = "zones/lookup"

    public struct Request: WireValue {
        public var zones: [ZoneIDDictionary]

        public init(zones: [ZoneIDDictionary]) {
            self.zones = zones
        }
    }

    public typealias Answer = ZonesList.Answer
}

extension ZonesLookup.Request {
    public init(wire node: JSONNode) throws(WireError) {
        try node.expectObject()
        self.init(zones: try node.required("zones"))
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { $0.member("zones", zones) }
    }
}
