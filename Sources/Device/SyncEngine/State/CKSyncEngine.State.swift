import StratusClient
import StratusRecords
import StratusSync
import Synchronization

extension CKSyncEngine {
    /// The engine's pending changes, and how far it has fetched.
    ///
    /// Add a change when the app makes it, by record ID; the engine asks for the record when it
    /// sends. Every change of the state is reported with ``Event/stateUpdate(_:)``: store the
    /// serialization with the app's own data. It can be used from any thread, even while the
    /// delegate handles an event.
    ///
    /// ```swift
    /// engine.state.add(pendingRecordZoneChanges: [.saveRecord(hut.recordID)])
    /// ```
    public final class State: Sendable {
        /// The state in a form that can be stored: encode it with any encoder, and pass it to the
        /// next engine.
        ///
        /// Its content is private to the engine. Decoding a state of another version, or a damaged
        /// one, throws: then start without one, and everything is fetched again.
        public struct Serialization: Codable, Sendable {
            let ledger: EngineLedger

            init(_ ledger: EngineLedger) {
                self.ledger = ledger
            }

            /// Whether the database's changes were fetched.
            package var hasDatabaseToken: Bool { ledger.databaseToken != nil }

            public init(from decoder: any Decoder) throws {
                ledger = try EngineLedger(from: decoder)
            }

            public func encode(to encoder: any Encoder) throws {
                try ledger.encode(to: encoder)
            }
        }

        private struct Content {
            var ledger: EngineLedger
            /// Whether the latest change has not been reported to the app yet.
            var isUnreported = false
            /// Whether one of the unreported changes is the app's.
            var hasUnreportedAppChange = false
            /// Zones whose fetch began without a token and has not ended, each with a unique
            /// number.
            var fetchesFromBeginning: [ZoneID: Int] = [:]
            var fetchCount = 0
            var databaseFetchCount = 0
        }

        private struct Store {
            weak var history: (any ServiceHistory)?
        }

        private let content: Mutex<Content>
        private let store = Mutex(Store())
        private let changed: Mutex<(@Sendable () -> Void)?>

        init(_ serialization: Serialization?) {
            content = Mutex(Content(ledger: serialization?.ledger ?? EngineLedger()))
            changed = Mutex(nil)
        }

        /// The records to send, in the order in which they were added, without those that are being
        /// sent.
        public var pendingRecordZoneChanges: [PendingRecordZoneChange] {
            let pending = content.withLock { $0.ledger.pending }
            return pending.values.map { PendingRecordZoneChange($0) }
        }

        /// The zones to send, in the order in which they were added.
        public var pendingDatabaseChanges: [PendingDatabaseChange] {
            let ledger = ledger
            return ledger.pendingZones.map { id, change in
                change == .delete
                    ? .deleteZone(CKRecordZone.ID(id)) : .saveZone(ledger.zone(id))
            }
        }

        /// Whether the app has changes that it tracks itself: the delegate is then asked for
        /// batches although nothing is pending here. The app resets it.
        public var hasPendingUntrackedChanges: Bool {
            get { content.withLock { $0.ledger.hasPendingUntrackedChanges } }
            set { change { $0.setHasPendingUntrackedChanges(newValue) } }
        }

        /// Zones that have changes at the service and were not fetched to their end.
        public var zoneIDsWithUnfetchedServerChanges: [CKRecordZone.ID] {
            content.withLock { $0.ledger.zonesToFetch }.map { CKRecordZone.ID($0) }
        }

        /// Adds changes, each once: a later one for the same record replaces an earlier one.
        public func add(pendingRecordZoneChanges: [PendingRecordZoneChange]) {
            let items = pendingRecordZoneChanges.map(\.item)
            change { $0.add(items) }
        }

        /// Removes changes. One that is being sent now is not cancelled, but it is not sent again if it fails.
        public func remove(pendingRecordZoneChanges: [PendingRecordZoneChange]) {
            let items = pendingRecordZoneChanges.map(\.item)
            change { $0.remove(items) }
        }

        /// Adds zones to create or delete, each once: a later one replaces an earlier one. They are
        /// sent before records.
        public func add(pendingDatabaseChanges: [PendingDatabaseChange]) {
            let items = pendingDatabaseChanges.map(\.item)
            change { ledger in
                for case .saveZone(let zone) in pendingDatabaseChanges { ledger.take(zone) }
                return ledger.add(items)
            }
        }

        /// Removes zones to create or delete, each only if the pending change is the same one.
        ///
        /// A request for them that is already being made is not cancelled.
        public func remove(pendingDatabaseChanges: [PendingDatabaseChange]) {
            let items = pendingDatabaseChanges.map(\.item)
            change { $0.remove(items) }
        }

        // MARK: For a store of all records

        /// The store that the engine asks about the service's history; held weakly.
        package var history: (any ServiceHistory)? {
            get { store.withLock { $0.history } }
            set { store.withLock { $0.history = newValue } }
        }

        /// The number of the fetch whose pages the delegate is handling, if it began without a
        /// token, so that deletions are not reported. Call it while the delegate handles the pages
        /// and their end.
        package func fetchFromBeginning(of zone: ZoneID) -> Int? {
            content.withLock { $0.fetchesFromBeginning[zone] }
        }

        /// How often the database's changes were fetched to their end since the engine was created.
        package var databaseFetchCount: Int { content.withLock { $0.databaseFetchCount } }

        /// Forgets how far a zone was fetched: the next fetch of it begins at its beginning.
        package func forget(_ zone: ZoneID) { update { $0.forget(zone) } }

        /// Restores the tokens of an earlier state, or removes all: what was fetched since then is fetched again.
        ///
        /// - Returns: the zones that were not fetched to their end then, or that have records that could not be read.
        package func rewind(to earlier: Serialization?) -> [ZoneID] {
            let ledger = earlier?.ledger ?? EngineLedger()
            // As in a new engine: a fetch continues from its token, and begins at the beginning only without one.
            content.withLock { $0.fetchesFromBeginning = [:] }
            update { $0.rewind(to: ledger) }
            return ledger.zonesOfNewEngine
        }

        func noteDatabaseFetched() {
            content.withLock { $0.databaseFetchCount += 1 }
        }

        func beginsFromBeginning(_ zone: ZoneID) {
            content.withLock { content in
                content.fetchCount += 1
                content.fetchesFromBeginning[zone] = content.fetchCount
            }
        }

        func endsFromBeginning(_ zone: ZoneID) {
            content.withLock { $0.fetchesFromBeginning[zone] = nil }
        }

        // MARK: For the engine

        var ledger: EngineLedger { content.withLock { $0.ledger } }

        /// Calls this after every change by the app.
        func whenChanged(_ body: @escaping @Sendable () -> Void) {
            changed.withLock { $0 = body }
        }

        /// Makes a change of the app. A change without effect is not reported, and starts no sync.
        private func change(_ body: (inout EngineLedger) -> Bool) {
            let isChanged = content.withLock { content in
                guard body(&content.ledger) else { return false }
                content.isUnreported = true
                content.hasUnreportedAppChange = true
                return true
            }
            if isChanged { changed.withLock { $0 }?() }
        }

        /// Changes the ledger; the change is reported to the app later.
        func update<Value: Sendable>(_ body: (inout EngineLedger) -> Value) -> Value {
            content.withLock { content in
                content.isUnreported = true
                return body(&content.ledger)
            }
        }

        /// Whether the app made a change that was not reported to it yet.
        var hasUnreportedAppChange: Bool { content.withLock { $0.hasUnreportedAppChange } }

        /// The state that was not reported to the app yet, which counts as reported from now on.
        func takeUnreported() -> Serialization? {
            content.withLock { content in
                guard content.isUnreported else { return nil }
                content.isUnreported = false
                content.hasUnreportedAppChange = false
                return Serialization(content.ledger)
            }
        }

        /// A zone to create, as the app passed it.
        func zone(_ id: ZoneID) -> CKRecordZone { ledger.zone(id) }
    }
}

extension EngineLedger {
    /// Stores the settings of a zone to create.
    fileprivate mutating func take(_ zone: CKRecordZone) {
        let id = ZoneID(zone.zoneID)
        if zone.encryptionScope == .perZone {
            zonesEncryptedAsOne.insert(id)
        } else {
            zonesEncryptedAsOne.remove(id)
        }
    }

    /// A zone as the app passed it.
    fileprivate func zone(_ id: ZoneID) -> CKRecordZone {
        let zone = CKRecordZone(zoneID: CKRecordZone.ID(id))
        if zonesEncryptedAsOne.contains(id) { zone.encryptionScope = .perZone }
        return zone
    }
}
