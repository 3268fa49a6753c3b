import StratusRecords

/// `tokens/register`: has a container's notifications sent to a push token.
public enum TokensRegister: Endpoint {
    public static let path = "tokens/register"
    public static let isInDatabase = false

    public struct Request: WireObject, Hashable, Sendable {
        public var apnsEnvironment = ""
        public var apnsToken = ""
        public var clientID: String?

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
