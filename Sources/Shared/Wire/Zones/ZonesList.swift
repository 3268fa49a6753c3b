import StratusRecords

/// `zones/list`: all zones of a database.
public enum ZonesList: Endpoint {
    public static let path = "zones/list"
    public static let isReadWithoutBody = true

    /// A request without a body asks for the documented dictionaries, with `atomic`. One with a body comes from a
    /// client that expects answers without it (decision 1).
    public static let requestWithoutBody: Request? = Request(wantsAtomic: true)

    public struct Request: WireValue {
        /// Whether the answer says of each zone if it is atomic.
        public var wantsAtomic: Bool

        /// Makes a request for all zones. Our client sends it over HTTP without a body, which means true.
        public init(wantsAtomic: Bool = true) {
            self.wantsAtomic = wantsAtomic
        }

        public init(wire node: JSONNode) throws(WireError) {
            self.init(wantsAtomic: false)
        }

        public func write(to writer: inout JSONWriter) {
            writer.object { _ in }
        }
    }

    public typealias Answer = ListBody<ZoneResult>
}
