import OrderedCollections
import StratusRecords
import StratusSync

/// The state of a sync engine and its pending changes, as a value without a clock or input.
///
/// Invariants: * A record has at most one pending change, and so has a zone. * A change that is being sent is in flight
/// and not pending; if the record is changed again meanwhile, it is both. * In a restored ledger, changes that were in
/// flight are pending.
struct EngineLedger: Sendable {
    /// A zone to create or delete.
    enum ZoneChange: Hashable, Sendable {
        case save
        case delete
    }

    /// The record name of the state's user; nil before the first sign-in.
    var userRecordName: String?
    var databaseToken: String?
    var zoneTokens: [ZoneID: String] = [:]
    var zonesToFetch: [ZoneID] = []
    /// How often each zone was created, as far as the service has said so.
    private(set) var zoneGenerations: [ZoneID: Int64] = [:]
    /// Records, by name with their types, that arrived with conflicts from zones that were never fetched. A first fetch
    /// does not report earlier deletions: if it does not contain one of these records, that record was deleted.
    private(set) var conflictingRecords: [ZoneID: [String: String]] = [:]
    /// The names of records that this device could not read; see `UnreadableRecords`.
    private(set) var unreadable: [ZoneID: Set<String>] = [:]
    /// The database subscription, once it exists.
    var subscriptionID: String?
    private(set) var hasPendingUntrackedChanges = false

    private(set) var pending: OrderedDictionary<RecordID, PendingChange> = [:]
    private(set) var inFlight: OrderedDictionary<RecordID, PendingChange> = [:]
    /// Changes in flight that the app has removed: they are not sent again if they fail.
    private(set) var withdrawn: Set<RecordID> = []
    private(set) var pendingZones: OrderedDictionary<ZoneID, ZoneChange> = [:]
    /// The zones that the app creates with the encryption scope `.perZone`.
    var zonesEncryptedAsOne: Set<ZoneID> = []

    /// Counts the app's additions, to distinguish changes made while a batch is assembled from
    /// those in the batch.
    private(set) var additionCount: Int64 = 0

    /// Whether the app must be asked for a batch.
    var hasRecordChanges: Bool { !pending.isEmpty || hasPendingUntrackedChanges }

    // MARK: What the app adds and removes; each returns whether anything changed

    /// Adds changes; an equal change keeps its place, and one of the other kind replaces it at the
    /// end.
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
        let withdrawnCount = withdrawn.count
        for (id, kinds) in unwanted {
            if let sent = inFlight[id], kinds.contains(sent.kind) { withdrawn.insert(id) }
        }
        return pending.count < count || withdrawn.count > withdrawnCount
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

    /// Marks the changes of a batch as in flight.
    ///
    /// - Parameter askedCount: ``additionCount`` when the app was asked for the batch: changes
    ///   added later are not in it, and stay pending.
    mutating func send(_ changes: [PendingChange], askedAt askedCount: Int64) {
        var taken: Set<RecordID> = []
        for change in changes {
            inFlight[change.id] = change
            withdrawn.remove(change.id)
            if let known = pending[change.id], known.kind == change.kind,
                known.generation <= askedCount
            {
                taken.insert(change.id)
            }
        }
        pending.removeAll { taken.contains($0.key) }
    }

    /// Handles the outcome of a batch: its changes are no longer in flight, and those that stay pending return to the
    /// front, unless the app changed the record or removed the change meanwhile.
    mutating func resolve(_ changes: [PendingChange], _ dispositions: [ItemDisposition]) {
        for (change, disposition) in zip(changes, dispositions).reversed() {
            inFlight[change.id] = nil
            let isWithdrawn = withdrawn.remove(change.id) != nil
            switch disposition {
            case .pending, .countAttempt:
                if pending[change.id] == nil, !isWithdrawn {
                    pending.updateValue(change, forKey: change.id, insertingAt: 0)
                }
            case .confirmed, .conflict, .deletedElsewhere, .setAside: break
            }
        }
    }

    /// Notes that zones were created or deleted, or failed with an error for the app.
    mutating func resolve(_ zones: [ZoneID: ZoneChange]) {
        for (zone, change) in zones {
            if change == .delete { zonesEncryptedAsOne.remove(zone) }
            if pendingZones[zone] == change { pendingZones[zone] = nil }
        }
    }

    // MARK: What is fetched

    /// Notes a record that arrived with a conflict before the zone's changes.
    mutating func noteConflicting(_ record: RecordID, type: String) {
        guard zoneTokens[record.zoneID] == nil else { return }
        conflictingRecords[record.zoneID, default: [:]][record.name] = type
    }

    /// Notes a page of a zone's changes.
    ///
    /// - Returns: the noted records, with their types, that a first fetch did not contain.
    mutating func fetched(
        _ names: some Sequence<String>, of zone: ZoneID, token: String, moreComing: Bool
    ) -> [String: String] {
        zoneTokens[zone] = token
        guard conflictingRecords[zone] != nil else { return [:] }
        for name in names { conflictingRecords[zone]?[name] = nil }
        return moreComing ? [:] : conflictingRecords.removeValue(forKey: zone) ?? [:]
    }

    /// The result of ``fetched(_:of:token:moreComing:)``, without a change.
    func missing(
        _ names: some Sequence<String>, of zone: ZoneID, moreComing: Bool
    ) -> [String: String] {
        var copy = self
        return copy.fetched(names, of: zone, token: "", moreComing: moreComing)
    }

    /// Notes records of a zone that cannot be read, and forgets others.
    mutating func noteUnreadable(_ names: [String], besides others: [String], in zone: ZoneID) {
        let all = (unreadable[zone] ?? []).subtracting(others).union(names)
        unreadable[zone] = all.isEmpty ? nil : all
    }

    /// The zones that a new engine fetches: those with changes, and those with records that it may be able to read.
    var zonesOfNewEngine: [ZoneID] {
        zonesToFetch + unreadable.keys.inOrder.filter { !zonesToFetch.contains($0) }
    }

    /// The zones that were deleted and created again since their generations were noted.
    func recreated(_ generations: [ZoneID: Int64]) -> [ZoneID] {
        generations.keys.inOrder.filter { zone in
            guard let known = zoneGenerations[zone], let current = generations[zone] else {
                return false
            }
            return known < current
        }
    }

    /// Notes the generations of existing zones. Of those that were created again it forgets how far they were fetched, and
    /// a pending deletion, which is about the former zone.
    mutating func note(_ generations: [ZoneID: Int64]) {
        for zone in recreated(generations) {
            forget(zone)
            if pendingZones[zone] == .delete { pendingZones[zone] = nil }
        }
        zoneGenerations.merge(generations) { $1 }
    }

    /// Forgets how often a missing zone was created, so that its deletion is not reported once more if it is created
    /// again.
    mutating func forgetGeneration(of zone: ZoneID) { zoneGenerations[zone] = nil }

    /// Goes back to what had been fetched in an earlier state; the pending changes stay.
    mutating func rewind(to earlier: EngineLedger) {
        databaseToken = earlier.databaseToken
        zoneTokens = earlier.zoneTokens
        zonesToFetch = earlier.zonesToFetch
        zoneGenerations = earlier.zoneGenerations
        conflictingRecords = earlier.conflictingRecords
        unreadable = earlier.unreadable
    }

    /// Removes the state of a deleted zone. Its pending changes stay, for the app to decide.
    mutating func forget(_ zone: ZoneID) {
        conflictingRecords[zone] = nil
        unreadable[zone] = nil
        zoneTokens[zone] = nil
        zoneGenerations[zone] = nil
        zonesToFetch.removeAll { $0 == zone }
    }

    // MARK: The user

    /// The kinds of account changes.
    enum AccountChange: Hashable, Sendable {
        case signIn(String)
        case signOut(String)
        case switchAccounts(from: String, to: String)
    }

    /// Sets the signed-in user. The state of another user is removed.
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
