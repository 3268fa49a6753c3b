import Foundation
import StratusClient
import StratusRecords
import StratusSync

/// Keeps an app's records in step with the private or the shared database.
///
/// The app keeps its own store and tells the engine which records changed; the engine decides when
/// to fetch and to send, in what order, and how long to wait after a failure. All decisions are
/// those of `SyncSession` in StratusSync. Source: Apple's pages CKSyncEngine and CKSyncEngineDelegate.
///
/// ```swift
/// var configuration = CKSyncEngine.Configuration(
///     database: container.privateCloudDatabase, stateSerialization: store.engineState,
///     delegate: store)
/// let engine = CKSyncEngine(configuration)
/// engine.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneName: "Huts"))])
/// ```
///
/// An engine works as long as somebody keeps it. One engine for a database is the rule; several for
/// the same are allowed, as in tests.
public final class CKSyncEngine: Sendable, CustomStringConvertible {
    /// How an engine is made.
    public struct Configuration: Sendable {
        /// The private or the shared database.
        public var database: CKDatabase
        /// What the last ``Event/stateUpdate(_:)`` gave; nil at the first start, which fetches
        /// everything.
        public var stateSerialization: State.Serialization?
        /// The engine keeps no strong reference to it; without it, it does nothing.
        public var delegate: any CKSyncEngineDelegate
        /// False makes an engine that does nothing until ``CKSyncEngine/fetchChanges(_:)`` or
        /// ``CKSyncEngine/sendChanges(_:)`` is called, and never repeats anything: for tests.
        public var automaticallySync = true
        /// The database subscription to use, made when it is not there. Nil uses any, and makes one
        /// where there is none.
        public var subscriptionID: CKSubscription.ID?

        public init(
            database: CKDatabase, stateSerialization: State.Serialization?,
            delegate: any CKSyncEngineDelegate
        ) {
            self.database = database
            self.stateSerialization = stateSerialization
            self.delegate = delegate
        }
    }

    public let database: CKDatabase
    public let state: State
    let driver: EngineDriver

    /// Starts an engine. With automatic syncing it begins at once: listens, fetches what changed, and
    /// sends what the state has pending.
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

    /// Fetches what changed, and returns when the delegate has handled all of it.
    ///
    /// - Throws: `CKError`: what failed the fetch as a whole, or `partialFailure` by zone;
    ///   `notAuthenticated` without an account.
    /// - Precondition: Not called from inside a method of the delegate.
    public func fetchChanges(_ options: FetchChangesOptions = FetchChangesOptions()) async throws {
        driver.checkCaller()
        try await driver.run(for: self) { driver, engine in
            try await driver.fetchByHand(options, engine)
        }
    }

    /// Sends what is pending, and returns when the delegate has handled the outcome and has nothing
    /// more to send, or after the first batch of which something failed.
    ///
    /// What the delegate adds when it hears of a failure goes with the next call:
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
    /// - Throws: `CKError`: what failed a request as a whole, or `partialFailure` by record or zone;
    ///   `limitExceeded` or `invalidArguments` for a batch that must not be; `notAuthenticated` without
    ///   an account.
    /// - Precondition: Not called from inside a method of the delegate.
    public func sendChanges(_ options: SendChangesOptions = SendChangesOptions()) async throws {
        driver.checkCaller()
        try await driver.run(for: self) { driver, engine in
            try await driver.sendByHand(options, engine)
        }
    }

    /// Gives up what is under way or waits for its turn. What is on its way may still arrive; whatever
    /// was not confirmed stays pending. Calls that are given up throw `operationCancelled`. An automatic
    /// engine goes on with the next change, notification or planned fetch.
    ///
    /// May be called from inside a method of the delegate.
    public func cancelOperations() async {
        await driver.cancelOperations()
    }

    /// Lets a zone's changes be fetched as after a notification, nil those of the database; with the next
    /// ``fetchChanges(_:)`` where the engine is not automatic.
    package func fetchSoon(_ zone: ZoneID?) async { await driver.fetchSoon(zone) }

    public var description: String {
        "<CKSyncEngine: \(database), \(state.ledger.pending.count) pending>"
    }
}
