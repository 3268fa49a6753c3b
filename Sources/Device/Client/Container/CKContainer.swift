import Foundation
import StratusRecords

/// An app's part of the service, with its three databases.
///
/// ```swift
/// let container = CKContainer(identifier: "iCloud.org.example.Trails")
/// if try await container.accountStatus() == .available {
///     try await container.privateCloudDatabase.save(CKRecord(recordType: "Trail"))
/// }
/// ```
public final class CKContainer: NSObject, Sendable {
    /// The database of the user's own data. Requests fail with `CKError.notAuthenticated` without an account.
    public let privateCloudDatabase: CKDatabase
    /// The database for all users of the container. It can be read without an account.
    public let publicCloudDatabase: CKDatabase
    /// The database of what others share with the user. Requests need an account.
    public let sharedCloudDatabase: CKDatabase
    let core: ContainerCore
    let defaults: OperationDefaults

    /// The container of the process: `STRATUS_CONTAINER`, or `iCloud.` and the process's name.
    public class func `default`() -> CKContainer {
        let process = ProcessInfo.processInfo
        return CKContainer(
            identifier: process.environment["STRATUS_CONTAINER"] ?? "iCloud.\(process.processName)")
    }

    /// - Parameter containerIdentifier: case-sensitive; begins with `iCloud.`.
    public convenience init(identifier containerIdentifier: String) {
        self.init(identifier: containerIdentifier, connection: .current)
    }

    /// Makes a container with a connection of its own, so that one process can be several devices.
    public convenience init(identifier containerIdentifier: String, connection: CloudConnection) {
        self.init(
            core: connection.containerCore(containerIdentifier), defaults: OperationDefaults())
    }

    init(core: ContainerCore, defaults: OperationDefaults) {
        self.core = core
        self.defaults = defaults
        privateCloudDatabase = CKDatabase(.private, core: core, defaults: defaults)
        publicCloudDatabase = CKDatabase(.public, core: core, defaults: defaults)
        sharedCloudDatabase = CKDatabase(.shared, core: core, defaults: defaults)
    }

    /// The identifier that the container was made with; never nil. Optional as in Apple's framework.
    public var containerIdentifier: String? { core.identifier }

    /// The connection to the service, with the account.
    public var connection: CloudConnection { core.connection }

    /// The database of a scope; the same object as the property of that name.
    public func database(with databaseScope: CKDatabase.Scope) -> CKDatabase {
        switch databaseScope {
        case .public: publicCloudDatabase
        case .private: privateCloudDatabase
        case .shared: sharedCloudDatabase
        }
    }

    /// Runs an operation in this container.
    public func add(_ operation: CKOperation) {
        operation.adopt(container: self)
        operation.enqueue(on: core.operationQueue)
    }

    /// Containers are equal if they have the same identifier and connection.
    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CKContainer else { return false }
        return core === other.core
    }

    public override var hash: Int { core.identifier.hashValue }

    public override var description: String { "<CKContainer: \(core.identifier)>" }

    // MARK: Scoped configuration

    /// Runs a body with a copy of the container whose operations have these settings.
    @discardableResult
    public func configuredWith<R>(
        configuration: CKOperation.Configuration? = nil, group: CKOperationGroup? = nil,
        body: (CKContainer) throws -> R
    ) rethrows -> R {
        try body(
            CKContainer(
                core: core,
                defaults: defaults.overridden(configuration: configuration, group: group)))
    }

    /// Runs an asynchronous body with a copy of the container whose operations have these settings.
    ///
    /// - Parameter configuration: what it does not set stays as in this container; nil sets nothing.
    /// - Parameter group: the group of the operations; nil keeps that of this container.
    @discardableResult
    public func configuredWith<R>(
        configuration: CKOperation.Configuration? = nil, group: CKOperationGroup? = nil,
        body: @Sendable (CKContainer) async throws -> R
    ) async rethrows -> R {
        try await body(
            CKContainer(
                core: core,
                defaults: defaults.overridden(configuration: configuration, group: group)))
    }
}
