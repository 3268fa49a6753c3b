import StratusRecords

/// `tokens/create`: creates a push token and the address of its long poll.
public enum TokensCreate: Endpoint {
    public static let path = "tokens/create"
    public static let isInDatabase = false

    public struct Request: WireObject, Hashable, Sendable {
        /// `development` or `production`.
        public var apnsEnvironment = ""
        /// The device, at most 255 bytes; nil for the `clientId` of the query, else the session.
        public var clientID: String?

        /// Makes a request for a push token.
        public init(apnsEnvironment: String, clientID: String? = nil) {
            self.apnsEnvironment = apnsEnvironment
            self.clientID = clientID
        }

        public init() {}

        public mutating func members<C: WireCoder & ~Copyable>(_ coder: inout C) throws(C.Failure) {
            try coder.required("apnsEnvironment", &apnsEnvironment)
            try coder.optional("clientId", &clientID)
        }
    }

    public struct Answer: WireObject, Hashable, Sendable {
        /// The environment as it was sent.
        public var apnsEnvironment = ""
        /// Base64.
        public var apnsToken = ""
        /// The address for GET requests, to be used verbatim; in process a path without origin.
        public var webcourierURL = ""

        /// Makes the answer with a new push token.
        public init(apnsEnvironment: String, apnsToken: String, webcourierURL: String) {
            self.apnsEnvironment = apnsEnvironment
            self.apnsToken = apnsToken
            self.webcourierURL = webcourierURL
        }

        public init() {}

        public mutating func members<C: WireCoder & ~Copyable>(_ coder: inout C) throws(C.Failure) {
            try coder.required("apnsEnvironment", &apnsEnvironment)
            try coder.required("apnsToken", &apnsToken)
            try coder.required("webcourierURL", &webcourierURL)
        }
    }
}
