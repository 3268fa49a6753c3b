import StratusRecords

/// `users/sessions`: lists where the caller is signed in, and ends sessions, as of a lost phone.
///
/// An extension: with CloudKit the system's settings do that.
public enum UsersSessions: Endpoint {
    public static let path = "users/sessions"
    public static let isReadWithoutBody = true

    public struct Request: WireObject, Hashable, Sendable {
        /// Identifiers of sessions to end; when empty, the request only lists them.
        public var revoke: [String] = []

        /// Makes a request to list the sessions and to end some of them.
        public init(revoke: [String] = []) { self.revoke = revoke }

        public init() {}

        public mutating func members<C: WireCoder & ~Copyable>(_ coder: inout C) throws(C.Failure) {
            try coder.nonempty("revoke", &revoke)
        }
    }

    /// A sign-in of the caller that is valid for the request's container.
    public struct Session: WireObject, Hashable, Sendable {
        /// Identifies the session in this endpoint only.
        public var id = ""
        /// The name that its device sends.
        public var device: String?
        /// Milliseconds since 1970.
        public var created: Int64 = 0
        /// Milliseconds since 1970, accurate to a tenth of a session's lifetime.
        public var lastUsed: Int64 = 0
        /// Whether it is the caller's own.
        public var isCurrent = false

        /// Makes a session for the list.
        public init(
            id: String, device: String?, created: Int64, lastUsed: Int64, isCurrent: Bool
        ) {
            self.id = id
            self.device = device
            self.created = created
            self.lastUsed = lastUsed
            self.isCurrent = isCurrent
        }

        public init() {}

        public mutating func members<C: WireCoder & ~Copyable>(_ coder: inout C) throws(C.Failure) {
            try coder.required("id", &id)
            try coder.optional("device", &device)
            try coder.required("created", &created)
            try coder.required("lastUsed", &lastUsed)
            try coder.flag("isCurrent", &isCurrent)
        }
    }

    public struct Answer: WireObject, Hashable, Sendable {
        /// The oldest first.
        public var sessions: [Session] = []

        /// Makes the answer with the remaining sessions.
        public init(sessions: [Session]) { self.sessions = sessions }

        public init() {}

        public mutating func members<C: WireCoder & ~Copyable>(_ coder: inout C) throws(C.Failure) {
            try coder.required("sessions", &sessions)
        }
    }
}
