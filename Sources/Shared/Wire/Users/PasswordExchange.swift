import StratusRecords

/// `POST /auth/password`: exchanges an e-mail address and a password for a web-auth token, for programs without a
/// browser.
///
/// An extension: CloudKit leaves signing in to Apple's own pages. The API token is in the query, as
/// everywhere.
public enum PasswordExchange {
    public struct Request: WireObject, Hashable, Sendable {
        public var container = ""
        /// `development` or `production`.
        public var environment = ContainerEnvironment.development
        public var emailAddress = ""
        public var password = ""
        public var staysSignedIn = false

        public init(
            container: String, environment: ContainerEnvironment, emailAddress: String,
            password: String, staysSignedIn: Bool
        ) {
            self.container = container
            self.environment = environment
            self.emailAddress = emailAddress
            self.password = password
            self.staysSignedIn = staysSignedIn
        }

        public init() {}

        public mutating func members<C: WireCoder & ~Copyable>(_ coder: inout C) throws(C.Failure) {
            try coder.required("container", &container)
            try coder.required("environment", &environment)
            try coder.required("emailAddress", &emailAddress)
            try coder.required("password", &password)
            try coder.flag("staySignedIn", &staysSignedIn)
        }
    }

    public typealias Answer = DevSignIn.Answer
}
