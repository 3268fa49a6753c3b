/// Signing in by name alone, on a server that was started for development.
///
/// An extension: CloudKit leaves signing in to Apple's own pages.
public enum DevSignIn {
    public struct Request: WireValue {
        /// Any name; the same name is the same user.
        public var user: String

        public init(user: String) {
            self.user = user
        }
    }

    public struct Answer: WireValue {
        public var webAuthToken: String
        public var userRecordName: String

        public init(webAuthToken: String, userRecordName: String) {
            self.webAuthToken = webAuthToken
            self.userRecordName = userRecordName
        }
    }
}

extension DevSignIn.Request {
    public init(wire node: JSONNode) throws(WireError) {
        self.init(user: try node.required("user"))
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { $0.member("user", user) }
    }
}

extension DevSignIn.Answer {
    public init(wire node: JSONNode) throws(WireError) {
        self.init(
            webAuthToken: try node.required("ckWebAuthToken"),
            userRecordName: try node.required("userRecordName"))
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("ckWebAuthToken", webAuthToken)
            writer.member("userRecordName", userRecordName)
        }
    }
}
