import OrderedCollections
import StratusRecords
import StratusSync

/// What a sync engine must not forget, and what it is about to do: a value, without clock or input.
///
/// Invariants:
/// * A record has one pending change at the most, and a zone has one.
/// * A change that is sent is in flight and not pending; changed again meanwhile, it is both.
/// * Whoever restores the ledger finds what was in flight among what is pending.
struct EngineLedger: Sendable {
    /// A zone to be made or to be deleted.
    enum ZoneChange: Hashable, Sendable {
        case save
        case delete
    }

    /// The record name of the user to whom all this belongs; nil before the first sign-in.
    var userRecordName: String?
    var databaseToken: String?
    var zoneTokens: [ZoneID: String] = [:]
    var zonesToFetch: [ZoneID] = []
    /// Records, by name, that conflicts brought from zones that were never fetched, with their types. A
    /// first fetch does not tell what was deleted before it: what it does not bring of these is gone.
    private(set) var metRecords: [ZoneID: [String: String]] = [:]
    /// The database subscription, once it is there.
    var subscriptionID: String?
    private(set) var hasPendingUntrackedChanges = false

    private(set) var pending: OrderedDictionary<RecordID, PendingChange> = [:]
    private(set) var inFlight: OrderedDictionary<RecordID, PendingChange> = [:]
    private(set) var pendingZones: OrderedDictionary<ZoneID, ZoneChange> = [:]
    /// The zones that the app makes with the encryption scope `.perZone`.
    var zonesEncryptedAsOne: Set<ZoneID> = []

    /// Counts what the app adds, so that a change made while a batch is put together is told from
    /// one that the batch has.
    private(set) var additionCount: Int64 = 0

    /// Whether there is something to ask the app for.
    var hasRecordChanges: Bool { !pending.isEmpty || hasPendingUntrackedChanges }

    // MARK: What the app adds and takes back; each says whether that changed anything

    /// Adds changes; one for the same record keeps its place, one of the other kind takes over and
    /// goes to the end.
    @discardableResult
    mutating func add(_ changes: [(id: RecordID, kind: PendingChange.Kind)]) -> Bool {
        guard !changes.isEmpty else { return false }
        additionCount += 1
        for (id, kind) in changes {
            if let known = pending[id], known.kind != kind { pending[id] = nil }
            pending[id] = PendingChange(id: id, kind: kind, generation: additionCount)
        }
        return true
    }

    mutating func remove(_ changes: [(id: RecordID, kind: PendingChange.Kind)]) -> Bool {
        let unwanted = Dictionary(changes.map { ($0.id, Set([$0.kind])) }) { $0.union($1) }
        let count = pending.count
        pending.removeAll { unwanted[$0.key]?.contains($0.value.kind) ?? false }
        return pending.count < count
    }

    @discardableResult
    mutating func add(_ changes: [(zone: ZoneID, change: ZoneChange)]) -> Bool {
        let changes = changes.filter { !$0.zone.isDefault }
        guard !changes.isEmpty else { return false }
        additionCount += 1
        for (zone, change) in changes {
            if let known = pendingZones[zone], known != change { pendingZones[zone] = nil }
            pendingZones[zone] = change
        }
        return true
    }

    mutating func remove(_ changes: [(zone: ZoneID, change: ZoneChange)]) -> Bool {
        let count = pendingZones.count
        for (zone, change) in changes where pendingZones[zone] == change {
            pendingZones[zone] = nil
        }
        return pendingZones.count < count
    }

    @discardableResult
    mutating func setHasPendingUntrackedChanges(_ hasPendingUntrackedChanges: Bool) -> Bool {
        defer { self.hasPendingUntrackedChanges = hasPendingUntrackedChanges }
        if hasPendingUntrackedChanges { additionCount += 1 }
        return hasPendingUntrackedChanges || self.hasPendingUntrackedChanges
    }

    // MARK: What is sent

    /// Puts a batch in flight.
    ///
    /// - Parameter askedCount: ``additionCount`` when the app was asked for the batch: what was
    ///   added later is not in it, and stays pending.
    mutating func send(_ changes: [PendingChange], askedAt askedCount: Int64) {
        var taken: Set<RecordID> = []
        for change in changes {
            inFlight[change.id] = change
            if let known = pending[change.id], known.kind == change.kind,
                known.generation <= askedCount
            {
                taken.insert(change.id)
            }
        }
        pending.removeAll { taken.contains($0.key) }
    }

    /// Ends a flight: what the verdicts leave pending comes back to the front, unless the app
    /// changed the record meanwhile.
    mutating func resolve(_ changes: [PendingChange], _ verdicts: [ItemVerdict]) {
        for (change, verdict) in zip(changes, verdicts).reversed() {
            inFlight[change.id] = nil
            switch verdict {
            case .pending, .countAttempt:
                if pending[change.id] == nil {
                    pending.updateValue(change, forKey: change.id, insertingAt: 0)
                }
            case .confirmed, .conflict, .deletedElsewhere, .setAside: break
            }
        }
    }

    /// Takes note that zones were made or deleted, or failed for a reason that is the app's.
    mutating func resolve(_ zones: [ZoneID: ZoneChange]) {
        for (zone, change) in zones {
            if change == .delete { zonesEncryptedAsOne.remove(zone) }
            if pendingZones[zone] == change { pendingZones[zone] = nil }
        }
    }

    // MARK: What is fetched

    /// A conflict brought a record before the zone's changes did.
    mutating func meet(_ record: RecordID, type: String) {
        guard zoneTokens[record.zoneID] == nil else { return }
        metRecords[record.zoneID, default: [:]][record.name] = type
    }

    /// A page of a zone's changes tells of these records.
    ///
    /// - Returns: the records, with their types, that were met and that a first fetch did not bring.
    mutating func fetched(
        _ names: some Sequence<String>, of zone: ZoneID, token: String, moreComing: Bool
    ) -> [String: String] {
        zoneTokens[zone] = token
        guard metRecords[zone] != nil else { return [:] }
        for name in names { metRecords[zone]?[name] = nil }
        return moreComing ? [:] : metRecords.removeValue(forKey: zone) ?? [:]
    }

    /// What ``fetched(_:of:token:moreComing:)`` would return.
    func missing(
        _ names: some Sequence<String>, of zone: ZoneID, moreComing: Bool
    ) -> [String: String] {
        var copy = self
        return copy.fetched(names, of: zone, token: "", moreComing: moreComing)
    }

    /// A zone is no more. What is pending for it stays: the app decides what becomes of it.
    mutating func forget(_ zone: ZoneID) {
        metRecords[zone] = nil
        zoneTokens[zone] = nil
        zonesToFetch.removeAll { $0 == zone }
    }

    // MARK: Whose it is

    /// What an account change comes to.
    enum AccountChange: Hashable, Sendable {
        case signIn(String)
        case signOut(String)
        case switchAccounts(from: String, to: String)
    }

    /// Takes note of who is signed in. Nothing of another user is kept.
    ///
    /// - Returns: nil when nothing changed.
    mutating func account(is current: String?) -> AccountChange? {
        let previous = userRecordName
        guard previous != current else { return nil }
        if previous != nil {
            let count = additionCount
            self = EngineLedger()
            additionCount = count
        }
        userRecordName = current
        return switch (previous, current) {
        case (nil, let current?): .signIn(current)
        case (let previous?, nil): .signOut(previous)
        case (let previous?, let current?): .switchAccounts(from: previous, to: current)
        case (nil, nil): nil
        }
    }
}
