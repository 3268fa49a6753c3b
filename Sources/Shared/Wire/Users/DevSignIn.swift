/// Signing in by name alone, on a server that was started for development.
///
/// An extension: CloudKit leaves signing in to Apple's own pages.
public enum DevSignIn {
    public struct Request: WireObject, Hashable, Sendable {
        /// Any name; the same name is the same user.
        public var user = ""

        public init(user: String) {
            self.user = user
        }

        public init() {}

        public mutating func members<C: WireCoder & ~Copyable>(_ coder: inout C) throws(C.Failure) {
            try coder.required("user", &user)
        }
    }

    public struct Answer: WireObject, Hashable, Sendable {
        public var webAuthToken = ""
        public var userRecordName = ""

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
