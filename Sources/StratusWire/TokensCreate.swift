import StratusRecords

/// `tokens/create`: makes a push token and the address of its long poll.
public enum TokensCreate: Endpoint {
    public static let path = "tokens/create"
    public static let isInDatabase = false

    public struct Request: Hashable, Sendable {
        /// `development` or `production`.
        public var apnsEnvironment: String
        public var clientID: String?

        public init(apnsEnvironment: String, clientID: String? = nil) {
            self.apnsEnvironment = apnsEnvironment
            self.clientID = clientID
        }
    }

    public struct Answer: Hashable, Sendable {
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
