import Foundation
import StratusRecords
import StratusWire

/// The devices and browsers on which the account is signed in.
extension CloudConnection {
    /// A sign-in of the account on one device or browser.
    public struct Session: Hashable, Sendable, Identifiable {
        /// Names the session for ``CloudConnection/revoke(_:container:)``.
        public var id: String
        /// The ``CloudConnection/deviceID`` of its device; nil when the device did not state it.
        public var deviceID: String?
        /// When the device or browser signed in.
        public var creationDate: Date
        /// When the session was last used, accurate to a tenth of its lifetime.
        public var lastUseDate: Date
        /// Whether it is this device's session.
        public var isCurrent: Bool
    }

    /// The account's valid sessions for a container, the oldest first.
    ///
    /// Not in CloudKit, where the system's settings show the sessions.
    ///
    /// ```swift
    /// let app = "iCloud.org.example.Trails"
    /// let lost = try await connection.sessions(container: app).filter { !$0.isCurrent }
    /// try await connection.revoke(lost, container: app)
    /// ```
    ///
    /// - Throws: `CKError`.
    public func sessions(container: String) async throws -> [Session] {
        try await sessions(revoking: [], container)
    }

    /// Ends sessions, such as that of a lost phone: its next request is refused, and it no longer gets notifications.
    /// The data on that device stays there.
    ///
    /// - Returns: the sessions that are left.
    /// - Throws: `CKError`: `invalidArguments` for the session of this device, which ``endSession(container:)`` ends.
    @discardableResult
    public func revoke(_ sessions: [Session], container: String) async throws -> [Session] {
        try await self.sessions(revoking: sessions.map(\.id), container)
    }

    private func sessions(revoking ids: [String], _ container: String) async throws -> [Session] {
        let target = RequestTarget(
            container: ContainerAddress(container: container, environment: environment),
            scope: .public)
        let sender = RequestSender(connection: self, target: target, pace: RequestPace())
        return try await sender.send(UsersSessions.self, .init(revoke: ids)).sessions.map {
            Session(
                id: $0.id, deviceID: $0.device, creationDate: Date(milliseconds: $0.created),
                lastUseDate: Date(milliseconds: $0.lastUsed), isCurrent: $0.isCurrent)
        }
    }
}
