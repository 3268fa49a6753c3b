import StratusRecords

/// `tokens/register`: asks that a container's notifications go to a push token.
public enum TokensRegister: Endpoint {
    public static let path = "tokens/register"
    public static let isInDatabase = false

    public struct Request: WireValue {
        public var apnsEnvironment: String
        public var apnsToken: String
        public var clientID: String?

        public init(apnsEnvironment: String, apnsToken: String, clientID: String? = nil) {
            self.apnsEnvironment = apnsEnvironment
            self.apnsToken = apnsToken
            self.clientID = clientID
        }
    }

    public typealias Answer = EmptyBody
}

extension TokensRegister.Request {
    public init(wire node: JSONNode) throws(WireError) {
        try node.expectObject()
        self.init(
            apnsEnvironment: try node.required("apnsEnvironment"),
            apnsToken: try node.required("apnsToken"),
            clientID: try node.optional("clientId"))
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("apnsEnvironment", apnsEnvironment)
            writer.member("apnsToken", apnsToken)
            writer.optional("clientId", clientID)
        }
    }
}
