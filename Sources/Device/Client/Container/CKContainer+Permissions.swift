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

    public enum ApplicationPermissionStatus: Int, Sendable {
        /// The person was not asked, or did not agree.
        case initialState = 0
        case couldNotComplete = 1
        case denied = 2
        case granted = 3
    }

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
    /// answer is always `.granted`.
    ///
    /// - Throws: `CKError.notAuthenticated` without an account.
    public func requestApplicationPermission(
        _ applicationPermission: ApplicationPermissions
    ) async throws -> ApplicationPermissionStatus {
        guard applicationPermission == .userDiscoverability else { return .couldNotComplete }
        return try await session.isDiscoverable(wanted: true) ? .granted : .denied
    }
}
