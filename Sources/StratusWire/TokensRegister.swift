import StratusRecords

/// `tokens/register`: asks that a container's notifications go to a push token.
public enum TokensRegister: Endpoint {
    public static let path = "tokens/register"
    public static let isInDatabase = false

    public struct Request: Hashable, Sendable {
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
