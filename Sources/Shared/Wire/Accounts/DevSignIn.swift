/// Signing in by name alone, on a server that was started for development.
///
/// An extension: CloudKit leaves signing in to Apple's own pages.
public enum DevSignIn {
    /// The body of `POST /dev/sign-in`.
    public struct Request: WireObject, Hashable, Sendable {
        /// Any name; the same name is the same user.
        public var user = ""

        /// Makes a request to sign in.
        ///
        /// - Parameter user: 1 to 255 bytes. An e-mail address becomes the user's verified address.
        public init(user: String) {
            self.user = user
        }

        public init() {}

        public mutating func members<C: WireCoder & ~Copyable>(_ coder: inout C) throws(C.Failure) {
            try coder.required("user", &user)
        }
    }

    /// A sign-in: also the answer of ``PasswordExchange`` and ``IdentityExchange``.
    public struct Answer: WireObject, Hashable, Sendable {
        /// The first web-auth token of the session, under the key `ckWebAuthToken`.
        public var webAuthToken = ""
        /// The record name of the user who is signed in.
        public var userRecordName = ""

        /// Makes the answer to a sign-in.
        public init(webAuthToken: String, userRecordName: String) {
            self.webAuthToken = webAuthToken
            self.userRecordName = userRecordName
        }

        public init() {}

        public mutating func members<C: WireCoder & ~Copyable>(_ coder: inout C) throws(C.Failure) {
            try coder.required("ckWebAuthToken", &webAuthToken)
            try coder.required("userRecordName", &userRecordName)
        }
    }
}
