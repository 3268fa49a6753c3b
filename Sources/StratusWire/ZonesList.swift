import StratusRecords

/// `zones/list`: all zones of a database.
public enum ZonesList: Endpoint {
    public static let path = "zones/list"
    public static let isReadWithoutBody = true

    public typealias Request = EmptyBody

    public struct Answer: WireValue {
        public var zones: [ZoneResult]

        public init(zones: [ZoneResult]) {
            self.zones = zones
        }
    }
}

extension ZonesList.Answer {
    public init(wire node: JSONNode) throws(WireError) {
        self.init(zones: try node.required("zones"))
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { $0.member("zones", zones) }
    }
}
