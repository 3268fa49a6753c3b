import StratusRecords

/// `POST /auth/oidc`: an identity token of an OpenID Connect provider for a web-auth token.
///
/// An extension: CloudKit knows Apple's own sign-in alone. The API token is in the query, as everywhere.
public enum IdentityExchange {
    public struct Request: WireValue {
        public var container: String
        /// `development` or `production`.
        public var environment: ContainerEnvironment
        /// As the provider gave it: header, claims and signature with dots between them.
        public var identityToken: String
        /// What the app chose for this sign-in; the token must have it, or its SHA-256.
        public var nonce: String
        public var staysSignedIn: Bool

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
    }

    public typealias Answer = DevSignIn.Answer
}

extension IdentityExchange.Request {
    public init(wire node: JSONNode) throws(WireError) {
        try node.expectObject()
        self.init(
            container: try node.required("container"),
            environment: try node.requiredWord("environment"),
            identityToken: try node.required("identityToken"),
            nonce: try node.required("nonce"),
            staysSignedIn: try node.optional("staySignedIn") ?? false)
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("container", container)
            writer.member("environment", environment.rawValue)
            writer.member("identityToken", identityToken)
            writer.member("nonce", nonce)
            writer.flag("staySignedIn", staysSignedIn)
        }
    }
}
