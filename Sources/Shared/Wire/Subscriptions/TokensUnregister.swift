import StratusRecords

/// `tokens/unregister`, an extension: asks that a container's notifications no longer go to a push
/// token.
public enum TokensUnregister: Endpoint {
    public static let path = "tokens/unregister"
    public static let isInDatabase = false

    public struct Request: WireValue {
        public var apnsToken: String

        public init(apnsToken: String) {
            self.apnsToken = apnsToken
        }
    }

    public typealias Answer = EmptyBody
}

extension TokensUnregister.Request {
    public init(wire node: JSONNode) throws(WireError) {
        try node.expectObject()
        self.init(apnsToken: try node.required("apnsToken"))
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { $0.member("apnsToken", apnsToken) }
    }
}
