import Foundation
import StratusRecords

/// One of a container's three databases, as the signed-in user sees it.
///
/// ```swift
/// let saved = try await database.save(trail)
/// let fetched = try await database.record(for: saved.recordID)
/// let (saves, deletions) = try await database.modifyRecords(
///     saving: [fetched], deleting: [CKRecord.ID(recordName: "old trail")])
/// ```
public final class CKDatabase: NSObject, Sendable {
    /// The three databases of a container. The raw values are Apple's.
    public enum Scope: Int, Sendable {
        /// The data of all users of the container, in one default zone.
        case `public` = 1
        /// The user's own data, in the default zone and in custom zones.
        case `private` = 2
        /// What other users share with the user: a view on their private databases.
        case shared = 3
    }

    /// Which of the container's databases this is.
    public let databaseScope: CKDatabase.Scope
    let core: ContainerCore
    let defaults: OperationDefaults

    init(_ scope: Scope, core: ContainerCore, defaults: OperationDefaults) {
        databaseScope = scope
        self.core = core
        self.defaults = defaults
    }

    /// A container of this database.
    package var container: CKContainer { CKContainer(core: core, defaults: defaults) }

    /// The same database without downloads of assets, for caches that store an asset's value
    /// without its file.
    package var withoutAssetDownloads: CKDatabase {
        var defaults = defaults
        defaults.downloadsAssets = false
        return CKDatabase(databaseScope, core: core, defaults: defaults)
    }

    /// Runs an operation on this database.
    public func add(_ operation: CKDatabaseOperation) {
        operation.database = self
        operation.inherit(defaults)
        operation.enqueue(on: core.operationQueue)
    }

    /// Databases are equal if they have the same scope and equal containers.
    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CKDatabase else { return false }
        return databaseScope == other.databaseScope && core === other.core
    }

    public override var hash: Int { core.identifier.hashValue &+ databaseScope.rawValue }

    public override var description: String {
        "<CKDatabase: \(databaseScope) of \(core.identifier)>"
    }

    func session(pace: RequestPace) -> DatabaseSession {
        DatabaseSession(
            sender: core.sender(scope: databaseScope.wireScope, pace: pace), core: core,
            downloadsAssets: defaults.downloadsAssets)
    }

    /// The session of the convenience calls.
    var session: DatabaseSession { session(pace: defaults.pace(core.connection.world)) }

    // MARK: Scoped configuration

    /// Runs a body with a copy of the database whose operations have these settings.
    @discardableResult
    public func configuredWith<R>(
        configuration: CKOperation.Configuration? = nil, group: CKOperationGroup? = nil,
        body: (CKDatabase) throws -> R
    ) rethrows -> R {
        try body(configured(configuration, group))
    }

    /// Runs an asynchronous body with a copy of the database whose operations have these settings.
    ///
    /// - Parameter configuration: what it does not set stays as in this database; nil sets nothing.
    /// - Parameter group: the group of the operations; nil keeps that of this database.
    @discardableResult
    public func configuredWith<R>(
        configuration: CKOperation.Configuration? = nil, group: CKOperationGroup? = nil,
        body: @Sendable (CKDatabase) async throws -> R
    ) async rethrows -> R {
        try await body(configured(configuration, group))
    }

    private func configured(
        _ configuration: CKOperation.Configuration?, _ group: CKOperationGroup?
    ) -> CKDatabase {
        CKDatabase(
            databaseScope, core: core,
            defaults: defaults.overridden(configuration: configuration, group: group))
    }
}

extension CKDatabase.Scope {
    var wireScope: DatabaseScope {
        switch self {
        case .public: .public
        case .private: .private
        case .shared: .shared
        }
    }
}

/// The name of `CKDatabase.Scope` in Swift 3.
@available(*, deprecated, renamed: "CKDatabase.Scope")
public typealias CKDatabaseScope = CKDatabase.Scope
