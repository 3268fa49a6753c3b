import Foundation
import Logging
import StratusClient
import StratusRuntime
import Synchronization

/// Syncs an app's objects with a database.
///
/// ```swift
/// let mapping = try CloudMapping(
///     database: CKContainer.default().privateCloudDatabase, types: [Person.self, Home.self],
///     store: store, file: folder.appendingPathComponent("mapping"))
/// person.iCloud.save()
/// try await mapping.syncEntities()
/// ```
///
/// Objects' `iCloud` uses the mapping that was set up last for their type; ``current`` sets another
/// one for a task, so that one process can act as several devices.
public final class CloudMapping: Sendable {
    struct State {
        var isLocked = false
        var tickets = 0
        /// When each object's properties were last read for a successful save, by type and name.
        var captures: [String: Int] = [:]
        /// When each object's last save was confirmed, by type and name.
        var saves: [String: Int] = [:]
        /// When each object was deleted here, by type and name.
        var deletions: [String: Int] = [:]
        /// The objects that were created from records since the last sync began, by type and name.
        var made: [String: MadeObject] = [:]
        var recovery: Task<Void, Never>?
        /// Whether this process has requested again the records that were set aside.
        var hasRetriedUnreadable = false
        /// The last failure since the sync of the recovery began.
        var laterFailure: CKError?
    }

    /// The mapping that `iCloud` uses in this task, in place of the one that was set up last.
    @TaskLocal public static var current: CloudMapping?

    /// Whether mappings that are set up in this task are used in all tasks; false in simulated
    /// worlds.
    @TaskLocal package static var isForAllTasks = true

    private static let setUp = Mutex<[ObjectIdentifier: CloudMapping]>([:])
    /// Logs saves that are made before any setup.
    package static let withoutSetup = Mutex(Logger(label: "stratus.mapping"))

    /// The types, in the order of the setup.
    let types: [any CloudEntity.Type]
    private let typesByName: [String: any CloudEntity.Type]
    let store: any CloudStore
    let source: any RecordSource
    let ledger: SyncLedger
    let deviceID: String
    let ignoring: @Sendable (any CloudEntity) -> Bool
    let log: Logger
    let world: World
    let lanes = TypeLanes()
    let state = Mutex(State())
    let changedEntities = Broadcast<ChangedEntity>()
    /// Held while an object gets its sync ID, so that it gets only one.
    let naming = Mutex(())

    /// Sets up the mapping of an app.
    ///
    /// - Parameters:
    ///   - database: the private or the public database of a container. In the private one the
    ///     records are in a separate zone, whose change feed is used; the public one is queried by
    ///     modification date, and deletions are recorded in the record types `Device` and
    ///     `DeleteQueue`.
    ///   - types: all types that sync.
    ///   - store: where the objects are.
    ///   - file: where the mapping stores the last common state of both sides, one file for each
    ///     user and database; nil keeps it in memory, and every start compares everything.
    ///   - deviceID: identifies this device; it must be unique and the same at each start. Nil uses
    ///     the connection's.
    ///   - zoneName: the zone in the private database.
    ///   - ignoring: objects to exclude from syncing, in both directions, besides those of
    ///     ``CloudMap/ignore(when:)``.
    ///   - logger: at the level debug it logs every step.
    ///   - world: the source of time and randomness; replaced in tests.
    /// - Throws: ``MappingError`` `invalidMaps` with one sentence that names everything wrong, which is
    ///   logged too; `unwritable`.
    public convenience init(
        database: CKDatabase, types: [any CloudEntity.Type], store: any CloudStore, file: URL?,
        deviceID: String? = nil, zoneName: String = "Objects",
        ignoring: @escaping @Sendable (any CloudEntity) -> Bool = { _ in false },
        logger: Logger = Logger(label: "stratus.mapping"), world: World = .live
    ) throws {
        let hasFeed = database.databaseScope == .private
        let requests = DatabaseRequests(
            database: database, zoneID: hasFeed ? CKRecordZone.ID(zoneName: zoneName) : .default)
        let source: any RecordSource =
            hasFeed ? FeedSource(requests: requests) : QuerySource(requests: requests)
        try self.init(
            source: source, types: types, store: store, file: file,
            deviceID: deviceID ?? database.container.connection.deviceID, ignoring: ignoring,
            logger: logger, world: world)
    }

    init(
        source: any RecordSource, types: [any CloudEntity.Type], store: any CloudStore, file: URL?,
        deviceID: String, ignoring: @escaping @Sendable (any CloudEntity) -> Bool, logger: Logger,
        world: World
    ) throws {
        do {
            try MapChecking.check(types)
        } catch {
            logger.error("\(error)")
            throw error
        }
        self.source = source
        self.types = types
        typesByName = Dictionary(types.map { ($0.recordTypeName, $0) }) { $1 }
        self.store = store
        ledger = try SyncLedger.of(file)
        self.deviceID = deviceID
        self.ignoring = ignoring
        log = logger
        self.world = world
        guard Self.isForAllTasks else { return }
        Self.setUp.withLock { setUp in
            for type in types { setUp[ObjectIdentifier(type)] = self }
        }
    }

    /// While true, saves and syncs do nothing, so that code that saves need not change. The first sync afterwards sends
    /// what was saved and deleted meanwhile.
    public var isLocked: Bool {
        get { state.withLock { $0.isLocked } }
        set { state.withLock { $0.isLocked = newValue } }
    }

    /// The mapping behind the `iCloud` of a type.
    static func of(_ type: any CloudEntity.Type) throws -> CloudMapping {
        if let current { return current }
        guard let mapping = setUp.withLock({ $0[ObjectIdentifier(type)] }) else {
            throw MappingError(
                .notSetUp, "No CloudMapping was set up with \(type). Set one up first.")
        }
        return mapping
    }

    /// - Throws: ``MappingError`` `notSetUp` for a type that this mapping does not have.
    func requireSetUp(_ type: any CloudEntity.Type) throws {
        guard entityType(named: type.recordTypeName) != type else { return }
        throw MappingError(
            .notSetUp,
            "This CloudMapping does not have \(type). Add it to the types.")
    }

    func entityType(named recordType: String) -> (any CloudEntity.Type)? { typesByName[recordType] }

    func isIgnored<E: CloudEntity>(_ entity: E) -> Bool {
        entity.isPlaceholder || E.cloudMap.ignores.contains { $0(entity) } || ignoring(entity)
    }

    func recordID(_ name: String) -> CKRecord.ID {
        // The service refuses a name that is not valid.
        CKRecord.ID(known: name, zoneID: source.zoneID)
    }

    /// Checks the account, and creates the zone or registers the device.
    ///
    /// - Throws: ``MappingError`` `otherAccount`, and the service's errors.
    func prepare() async throws {
        if try await checkAccount() == nil, source.learnsUserByExchange,
            ledger.value("user") != nil
        {
            // The cache was emptied. What is saved there before it knows its user may be sent for another one.
            try await source.exchange()
            try await checkAccount()
        }
        guard ledger.value("prepared") == nil else { return }
        try await source.prepare()
        if !source.tellsDeletions { try await registerDevice() }
        try ledger.set("prepared", "yes")
    }

    /// - Throws: ``MappingError`` `otherAccount` if the objects are another user's: a sync would treat them as deleted, or
    ///   save them in the account of the user who is signed in.
    /// - Returns: the user who is signed in; nil for public records, and if it is not known yet.
    @discardableResult
    func checkAccount() async throws -> String? {
        guard let user = try await source.userRecordName() else { return nil }
        if let owner = ledger.value("user"), owner != user {
            throw MappingError(
                .otherAccount,
                "The mapping's objects belong to the user \(owner), not to \(user)."
                    + " Set up a mapping with another file and store.")
        }
        try ledger.set("user", user)
        return user
    }
}

extension CloudEntity {
    static var recordTypeName: String { cloudMap.recordType }
}
