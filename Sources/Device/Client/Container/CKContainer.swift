import Foundation
import StratusRecords
import StratusWire

/// An app's part of the service, with its three databases.
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

/// The state that containers and their databases share; one for each identifier and connection, see
/// `CloudConnection.containerCore(_:)`.
final class ContainerCore: Sendable {
    let identifier: String
    let connection: CloudConnection
    let operationQueue = OperationQueue()
    /// The queue of the convenience calls' completion handlers: one at a time, never on the main
    /// queue.
    let callbackQueue = DispatchQueue(label: "stratus.container.callbacks")
    let encryptedFields: EncryptedFieldMemory

    init(identifier: String, connection: CloudConnection) {
        self.identifier = identifier
        self.connection = connection
        encryptedFields = EncryptedFieldMemory(
            store: connection.keyring.store, container: identifier,
            environment: connection.environment)
    }

    var address: ContainerAddress {
        ContainerAddress(container: identifier, environment: connection.environment)
    }

    func sender(scope: DatabaseScope?, pace: RequestPace) -> RequestSender {
        RequestSender(
            connection: connection, target: RequestTarget(container: address, scope: scope),
            pace: pace)
    }
}

extension ContainerCore {
    /// The record name of the user who is signed in; requested once.
    ///
    /// - Throws: `CKError.notAuthenticated` without an account.
    func userRecordName(pace: RequestPace) async throws -> String {
        try connection.checkConfigured()
        try connection.checkAccount()
        if let known = connection.userRecordName(container: identifier) { return known }
        return try await askedUserRecordName(pace: pace)
    }

    /// The record name of the user, requested now.
    func askedUserRecordName(pace: RequestPace) async throws -> String {
        let changeCount = connection.accountChangeCount
        let answer = try await sender(scope: .public, pace: pace)
            .send(UsersCaller.self, EmptyBody())
        guard let name = answer.identity.userRecordName else {
            throw CKError(.internalError, "The service's answer names no user; try again.")
        }
        connection.rememberUser(name, container: identifier, changeCount: changeCount)
        return name
    }
}
