import StratusRecords

/// `POST /auth/password`: exchanges an e-mail address and a password for a web-auth token, for programs without a
/// browser.
///
/// An extension: CloudKit leaves signing in to Apple's own pages. The API token is in the query, as
/// everywhere.
public enum PasswordExchange {
    /// The body of `POST /auth/password`, at most 16,384 bytes.
    public struct Request: WireObject, Hashable, Sendable {
        /// The identifier of the container to sign in to; the API token must belong to it.
        public var container = ""
        /// `development` or `production`.
        public var environment = ContainerEnvironment.development
        /// The e-mail address of the account.
        public var emailAddress = ""
        /// The password of the account, in plain text.
        public var password = ""
        /// Whether web-auth tokens last `Limits.staySignedInSeconds` instead of `Limits.webAuthTokenSeconds`.
        public var staysSignedIn = false

        /// Makes a request to sign in with a password.
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

    /// The web-auth token and the user.
    public typealias Answer = DevSignIn.Answer
}
