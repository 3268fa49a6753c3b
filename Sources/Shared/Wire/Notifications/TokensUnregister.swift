import StratusRecords

/// `tokens/unregister`, an extension: stops sending a container's notifications to a push token.
public enum TokensUnregister: Endpoint {
    public static let path = "tokens/unregister"
    public static let isInDatabase = false

    public struct Request: WireObject, Hashable, Sendable {
        /// The push token to remove; an unknown one, and one of another user, is ignored.
        public var apnsToken = ""

        /// Makes a request to remove a push token.
        public init(apnsToken: String) {
            self.apnsToken = apnsToken
        }

        public init() {}

        public mutating func members<C: WireCoder & ~Copyable>(_ coder: inout C) throws(C.Failure) {
            try coder.required("apnsToken", &apnsToken)
        }
    }

    public typealias Answer = EmptyBody
}
