import StratusRecords

/// `POST /auth/oidc`: exchanges an identity token of an OpenID Connect provider for a web-auth token.
///
/// An extension: CloudKit only has Apple's own sign-in. The API token is in the query, as everywhere.
public enum IdentityExchange {
    /// The body of `POST /auth/oidc`, at most 65,536 bytes.
    public struct Request: WireObject, Hashable, Sendable {
        /// The identifier of the container to sign in to; the API token must belong to it.
        public var container = ""
        /// `development` or `production`.
        public var environment = ContainerEnvironment.development
        /// The token as the provider issued it: header, claims and signature, separated by dots.
        public var identityToken = ""
        /// What the app chose for this sign-in; the token must have it, or its SHA-256.
        public var nonce = ""
        /// Whether web-auth tokens last `Limits.staySignedInSeconds` instead of `Limits.webAuthTokenSeconds`.
        public var staysSignedIn = false

        /// Makes a request to exchange an identity token.
        public init(
            container: String, environment: ContainerEnvironment, identityToken: String,
            nonce: String, staysSignedIn: Bool
        ) {
            self.container = container
            self.environment = environment
            self.identityToken = identityToken
            self.nonce = nonce
            self.staysSignedIn = staysSignedIn
        }

        public init() {}

        public mutating func members<C: WireCoder & ~Copyable>(_ coder: inout C) throws(C.Failure) {
            try coder.required("container", &container)
            try coder.required("environment", &environment)
            try coder.required("identityToken", &identityToken)
            try coder.required("nonce", &nonce)
            try coder.flag("staySignedIn", &staysSignedIn)
        }
    }

    /// The web-auth token and the user.
    public typealias Answer = DevSignIn.Answer
}
