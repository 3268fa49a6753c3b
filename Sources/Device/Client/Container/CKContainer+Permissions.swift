import Foundation

extension CKContainer {
    /// The permissions that a person can give to an app.
    public struct ApplicationPermissions: OptionSet, Sendable {
        public let rawValue: UInt
        public init(rawValue: UInt) { self.rawValue = rawValue }

        /// Other users of the container may find the person by verified e-mail address or user
        /// record, and see the person's name.
        public static let userDiscoverability = Self(rawValue: 1 << 0)
    }

    /// Whether a person gave the app a permission. The raw values are Apple's.
    public enum ApplicationPermissionStatus: Int, Sendable {
        /// The person was not asked, or did not agree.
        case initialState = 0
        /// The permission is unknown to Stratus; or the request failed, and the completion handler gets its error.
        case couldNotComplete = 1
        /// The permission was requested, and the service still does not have it.
        case denied = 2
        /// The person agreed: other users of the container can find them.
        case granted = 3
    }

    /// The completion handler of the permission calls: the status, with an error only if the request failed.
    public typealias ApplicationPermissionBlock =
        @Sendable (ApplicationPermissionStatus, (any Error)?) -> Void

    /// Whether a permission was given. Deprecated by Apple.
    ///
    /// - Throws: `CKError.notAuthenticated` without an account.
    public func applicationPermissionStatus(
        for applicationPermission: ApplicationPermissions
    ) async throws -> ApplicationPermissionStatus {
        guard applicationPermission == .userDiscoverability else { return .couldNotComplete }
        return try await session.isDiscoverable() ? .granted : .initialState
    }

    /// Gives a permission. Deprecated by Apple.
    ///
    /// Apple's systems ask the person in a dialog; Stratus does not. Ask before you call this: the
    /// answer to ``ApplicationPermissions/userDiscoverability``, which is the only permission there is, is always
    /// `.granted`; any other gets `.couldNotComplete`.
    ///
    /// - Throws: `CKError.notAuthenticated` without an account.
    public func requestApplicationPermission(
        _ applicationPermission: ApplicationPermissions
    ) async throws -> ApplicationPermissionStatus {
        guard applicationPermission == .userDiscoverability else { return .couldNotComplete }
        return try await session.isDiscoverable(wanted: true) ? .granted : .denied
    }
}
