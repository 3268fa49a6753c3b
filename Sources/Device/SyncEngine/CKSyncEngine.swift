import Foundation
import StratusClient
import StratusRecords
import StratusSync

/// Syncs an app's records with the private or shared database.
///
/// The app has its own store and adds the changed records to the engine's state; the engine decides
/// when to fetch and to send, in what order, and how long to wait after a failure. The decisions
/// are made by `SyncSession` in StratusSync. Source: Apple's pages CKSyncEngine and
/// CKSyncEngineDelegate.
///
/// ```swift
/// let configuration = CKSyncEngine.Configuration(
///     database: container.privateCloudDatabase, stateSerialization: store.engineState,
///     delegate: store)
/// let engine = CKSyncEngine(configuration)
/// engine.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneName: "Huts"))])
/// ```
///
/// An engine works as long as it is retained. Usually there is one engine for a database; several
/// are allowed, as in tests.
public final class CKSyncEngine: Sendable, CustomStringConvertible {
    /// The configuration of an engine.
    public struct Configuration: Sendable {
        /// The private or the shared database.
        public var database: CKDatabase
        /// The state of the last ``Event/stateUpdate(_:)``; nil at the first start, which fetches
        /// everything.
        public var stateSerialization: State.Serialization?
        /// The delegate, to which the engine has only a weak reference; without it the engine does
        /// nothing.
        public var delegate: any CKSyncEngineDelegate
        /// False makes an engine that does nothing until ``CKSyncEngine/fetchChanges(_:)`` or
        /// ``CKSyncEngine/sendChanges(_:)`` is called, and does not retry by itself. Useful in tests.
        public var automaticallySync = true
        /// The database subscription to use, created if it does not exist. Nil uses any, and
        /// creates one if there is none.
        public var subscriptionID: CKSubscription.ID?

        /// Makes a configuration with automatic syncing, for any database subscription.
        ///
        /// - Parameters:
        ///   - database: the private or the shared database.
        ///   - stateSerialization: the state that the app stored last; nil at the first start.
        ///   - delegate: handles the events; the engine does not retain it.
        public init(
            database: CKDatabase, stateSerialization: State.Serialization?,
            delegate: any CKSyncEngineDelegate
        ) {
            self.database = database
            self.stateSerialization = stateSerialization
            self.delegate = delegate
        }
    }

    /// The private or shared database that the engine syncs with.
    public let database: CKDatabase
    /// The pending changes, to which the app adds its own, and how far the engine has fetched.
    public let state: State
    let driver: EngineDriver

    /// Starts an engine. With automatic syncing it begins at once: it listens, fetches changes, and
    /// sends the pending ones.
    ///
    /// - Precondition: The database is not the public one, which has no changes to fetch.
    public init(_ configuration: Configuration) {
        precondition(
            configuration.database.databaseScope != .public,
            "The public database has no changes; give a sync engine the private or the shared one.")
        database = configuration.database
        state = State(configuration.stateSerialization)
        driver = EngineDriver(configuration, state: state)
        let driver = driver
        state.whenChanged { [weak driver] in
            guard let driver else { return }
            _ = driver.world.startTask("state change") { await driver.appChangedState() }
        }
        _ = driver.world.startTask("engine start") { [weak self] in
            if let self { await driver.start(for: self) }
        }
    }

    deinit {
        let driver = driver
        _ = driver.world.startTask("engine stop") { await driver.stop() }
    }

    /// Fetches changes, and returns when the delegate has handled all that existed when it began. What others write
    /// meanwhile may be left to the next fetch.
    ///
    /// - Throws: `CKError`: the error of the whole fetch, or `partialFailure` by zone;
    ///   `notAuthenticated` without an account.
    /// - Precondition: Not called from inside a method of the delegate.
    public func fetchChanges(_ options: FetchChangesOptions = FetchChangesOptions()) async throws {
        driver.checkCaller()
        try await driver.run(for: self) { driver, engine in
            try await driver.fetchByHand(options, engine)
        }
    }

    /// Sends pending changes, and returns when the delegate has handled the outcome and has nothing
    /// more to send, or after the first batch with a failure.
    ///
    /// Changes that the delegate adds after a failure are sent with the next call:
    ///
    /// ```swift
    /// do {
    ///     try await engine.sendChanges()
    /// } catch CKError.partialFailure {
    ///     try await engine.sendChanges()  // what the delegate has merged and added again
    /// }
    /// ```
    ///
    /// Source: the tests of Apple's sample project of the engine.
    ///
    /// - Throws: `CKError`: the error of a whole request, or `partialFailure` by record or zone;
    ///   `limitExceeded` or `invalidArguments` for an invalid batch; `notAuthenticated` without an
    ///   account.
    /// - Precondition: Not called from inside a method of the delegate.
    public func sendChanges(_ options: SendChangesOptions = SendChangesOptions()) async throws {
        driver.checkCaller()
        try await driver.run(for: self) { driver, engine in
            try await driver.sendByHand(options, engine)
        }
    }

    /// Cancels running and waiting operations. Sent changes may still arrive; unconfirmed ones stay
    /// pending. Cancelled calls throw `operationCancelled`. An automatic engine continues with the
    /// next change, notification or planned fetch.
    ///
    /// May be called from inside a method of the delegate.
    public func cancelOperations() async {
        await driver.cancelOperations()
    }

    /// Fetches a zone's changes, or those of the database for nil, such as after a notification; if
    /// the engine is not automatic, with the next ``fetchChanges(_:)``.
    package func fetchSoon(_ zone: ZoneID?) async { await driver.fetchSoon(zone) }

    public var description: String {
        "<CKSyncEngine: \(database), \(state.ledger.pending.count) pending>"
    }
}
