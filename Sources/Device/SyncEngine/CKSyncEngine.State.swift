import StratusClient
import StratusRecords
import StratusSync
import Synchronization

extension CKSyncEngine {
    /// What the engine is still to do, and how far it has come.
    ///
    /// Add a change in the moment in which the app makes it, save or delete by identity; the engine
    /// asks for the record when it sends. Every change of the state is told by
    /// ``Event/stateUpdate(_:)``: keep the serialization with the app's own data. Safe to use from any
    /// thread, also while the delegate handles an event.
    ///
    /// ```swift
    /// engine.state.add(pendingRecordZoneChanges: [.saveRecord(hut.recordID)])
    /// ```
    public final class State: Sendable {
        /// The state in a form to keep: encode it with any encoder, and give it to the next engine.
        ///
        /// Its content is the engine's own. A state of another version, or a damaged one, throws
        /// when it is decoded: then start without one, and everything is fetched anew.
        public struct Serialization: Codable, Sendable {
            let ledger: EngineLedger

            init(_ ledger: EngineLedger) {
                self.ledger = ledger
            }

            public init(from decoder: any Decoder) throws {
                ledger = try EngineLedger(from: decoder)
            }

            public func encode(to encoder: any Encoder) throws {
                try ledger.encode(to: encoder)
            }
        }

        private struct Content {
            var ledger: EngineLedger
            /// Whether the app was not yet told of the latest change.
            var isUntold = false
            /// Zones whose fetch was begun without a token and has not ended, each with a number of its own.
            var fetchesFromBeginning: [ZoneID: Int] = [:]
            var fetchCount = 0
            var databaseFetchCount = 0
        }

        private let content: Mutex<Content>
        private let changed: Mutex<(@Sendable () -> Void)?>

        init(_ serialization: Serialization?) {
            content = Mutex(Content(ledger: serialization?.ledger ?? EngineLedger()))
            changed = Mutex(nil)
        }

        /// Records that are to be sent, in the order in which they were added, without those that
        /// are on their way.
        public var pendingRecordZoneChanges: [PendingRecordZoneChange] {
            let pending = content.withLock { $0.ledger.pending }
            return pending.values.map { PendingRecordZoneChange($0) }
        }

        /// Zones that are to be sent, in the order in which they were added.
        public var pendingDatabaseChanges: [PendingDatabaseChange] {
            let ledger = ledger
            return ledger.pendingZones.map { id, change in
                change == .delete
                    ? .deleteZone(CKRecordZone.ID(id)) : .saveZone(ledger.zone(id))
            }
        }

        /// Whether the app has changes of which it keeps the list itself: the delegate is then asked
        /// for batches although nothing is pending here. The app sets it back.
        public var hasPendingUntrackedChanges: Bool {
            get { content.withLock { $0.ledger.hasPendingUntrackedChanges } }
            set { change { $0.setHasPendingUntrackedChanges(newValue) } }
        }

        /// Zones that the service told of and that were not fetched to their end.
        public var zoneIDsWithUnfetchedServerChanges: [CKRecordZone.ID] {
            content.withLock { $0.ledger.zonesToFetch }.map { CKRecordZone.ID($0) }
        }

        /// Adds changes, each once: a later one for the same record replaces an earlier one.
        public func add(pendingRecordZoneChanges: [PendingRecordZoneChange]) {
            let items = pendingRecordZoneChanges.map(\.item)
            change { $0.add(items) }
        }

        /// Takes back changes that are not on their way yet.
        public func remove(pendingRecordZoneChanges: [PendingRecordZoneChange]) {
            let items = pendingRecordZoneChanges.map(\.item)
            change { $0.remove(items) }
        }

        /// Adds zones to make or to delete, each once: the later replaces the earlier. Sent before any
        /// record.
        public func add(pendingDatabaseChanges: [PendingDatabaseChange]) {
            let items = pendingDatabaseChanges.map(\.item)
            change { ledger in
                for case .saveZone(let zone) in pendingDatabaseChanges { ledger.take(zone) }
                return ledger.add(items)
            }
        }

        public func remove(pendingDatabaseChanges: [PendingDatabaseChange]) {
            let items = pendingDatabaseChanges.map(\.item)
            change { $0.remove(items) }
        }

        // MARK: For a store of all records

        /// The number of the fetch whose pages the delegate is told of, where it was begun without a token: what was
        /// deleted is not among them. To be asked while it handles them, and their end.
        package func fetchFromBeginning(of zone: ZoneID) -> Int? {
            content.withLock { $0.fetchesFromBeginning[zone] }
        }

        /// How often the database's changes were fetched to their end, since the engine was made.
        package var databaseFetchCount: Int { content.withLock { $0.databaseFetchCount } }

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

        /// What changes nothing is not told, and is no occasion to sync.
        private func change(_ body: (inout EngineLedger) -> Bool) {
            let isChanged = content.withLock { content in
                guard body(&content.ledger) else { return false }
                content.isUntold = true
                return true
            }
            if isChanged { changed.withLock { $0 }?() }
        }

        /// Changes the ledger; the app is told at the next opportunity.
        func update<Value: Sendable>(_ body: (inout EngineLedger) -> Value) -> Value {
            content.withLock { content in
                content.isUntold = true
                return body(&content.ledger)
            }
        }

        /// What the app was not told yet; told from now on.
        func takeUntold() -> Serialization? {
            content.withLock { content in
                guard content.isUntold else { return nil }
                content.isUntold = false
                return Serialization(content.ledger)
            }
        }

        /// A zone to make, as the app gave it.
        func zone(_ id: ZoneID) -> CKRecordZone { ledger.zone(id) }
    }
}

extension EngineLedger {
    /// Takes note of what a zone is made with.
    fileprivate mutating func take(_ zone: CKRecordZone) {
        let id = ZoneID(zone.zoneID)
        if zone.encryptionScope == .perZone {
            zonesEncryptedAsOne.insert(id)
        } else {
            zonesEncryptedAsOne.remove(id)
        }
    }

    /// A zone as the app gave it.
    fileprivate func zone(_ id: ZoneID) -> CKRecordZone {
        let zone = CKRecordZone(zoneID: CKRecordZone.ID(id))
        if zonesEncryptedAsOne.contains(id) { zone.encryptionScope = .perZone }
        return zone
    }
}
