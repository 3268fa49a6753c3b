import StratusRecords

/// `tokens/register`: has a container's notifications sent to a push token.
public enum TokensRegister: Endpoint {
    public static let path = "tokens/register"
    public static let isInDatabase = false

    public struct Request: WireObject, Hashable, Sendable {
        /// `development` or `production`; matters only for a token of Apple's push service.
        public var apnsEnvironment = ""
        /// A token of ``TokensCreate``; or, where the service sends to Apple's push service, a device's token of
        /// that, hexadecimal or base64.
        public var apnsToken = ""
        /// The device, at most 255 bytes. Nil leaves it as it is; for a token of Apple's it is the `clientId` of the
        /// query, else the session.
        public var clientID: String?

        /// Makes a request to register a push token.
        public init(apnsEnvironment: String, apnsToken: String, clientID: String? = nil) {
            self.apnsEnvironment = apnsEnvironment
            self.apnsToken = apnsToken
            self.clientID = clientID
        }

        public init() {}

        public mutating func members<C: WireCoder & ~Copyable>(_ coder: inout C) throws(C.Failure) {
            try coder.required("apnsEnvironment", &apnsEnvironment)
            try coder.required("apnsToken", &apnsToken)
            try coder.optional("clientId", &clientID)
        }
    }

    public typealias Answer = EmptyBody
}
