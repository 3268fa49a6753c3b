import StratusRecords

/// `tokens/create`: makes a push token and the address of its long poll.
public enum TokensCreate: Endpoint {
    public static let path = "tokens/create"
    public static let isInDatabase = false

    public struct Request: WireValue {
        /// `development` or `production`.
        public var apnsEnvironment: String
        public var clientID: String?

        public init(apnsEnvironment: String, clientID: String? = nil) {
            self.apnsEnvironment = apnsEnvironment
            self.clientID = clientID
        }
    }

    public struct Answer: WireValue {
        public var apnsEnvironment: String
        /// Base64.
        public var apnsToken: String
        /// Where to GET notifications, verbatim; in process a path without origin.
        public var webcourierURL: String

        public init(apnsEnvironment: String, apnsToken: String, webcourierURL: String) {
            self.apnsEnvironment = apnsEnvironment
            self.apnsToken = apnsToken
            self.webcourierURL = webcourierURL
        }
    }
}

extension TokensCreate.Request {
    public init(wire node: JSONNode) throws(WireError) {
        try node.expectObject()
        self.init(
            apnsEnvironment: try node.required("apnsEnvironment"),
            clientID: try node.optional("clientId"))
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("apnsEnvironment", apnsEnvironment)
            writer.optional("clientId", clientID)
        }
    }
}

extension TokensCreate.Answer {
    public init(wire node: JSONNode) throws(WireError) {
        self.init(
            apnsEnvironment: try node.required("apnsEnvironment"),
            apnsToken: try node.required("apnsToken"),
            webcourierURL: try node.required("webcourierURL"))
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("apnsEnvironment", apnsEnvironment)
            writer.member("apnsToken", apnsToken)
            writer.member("webcourierURL", webcourierURL)
        }
    }
}
