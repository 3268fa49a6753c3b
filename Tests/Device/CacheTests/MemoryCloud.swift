import StratusClient
import StratusRecords
import StratusSync
import Synchronization

@testable import StratusCache

/// A small cloud in memory: change tags, tombstones and tokens as the service has them, enough to test
/// the cache alone. The journeys with the real service are in another suite.
final class MemoryCloud: Sendable {
    struct Stored {
        var record: RecordSnapshot?
        var version: Int
    }

    struct Zone {
        var version = 0
        var generation: Int
        /// After a restore: the version of the copy.
        var lastIntactVersion: Int64?
        var records: [String: Stored] = [:]
    }

    struct State {
        var zones: [ZoneID: Zone] = [:]
        var deletedZones: [(zone: ZoneID, reason: ZoneDeletionReason, version: Int)] = []
        var changedAt: [ZoneID: Int] = [:]
        var version = 0
        var generation = 0
        var clockMilliseconds: Int64 = 1_000_000
        var itemLimit = 400
        var pageSize = 3
        var saveCount = 0
        var expiredTokens: Set<String> = []
        var refusals: [String: SyncFailure] = [:]
        var zoneRefusals: [ZoneID: SyncFailure] = [:]
        /// Zones in one request at the most.
        var zoneLimit = 400
        /// Living records that fit into the zones of an owner.
        var room: [String: Int] = [:]
        /// Whether a parent must be there before its children and stay as long as they do.
        var checksParents = false
        var subscriptionCount = 0
        /// Fields that the schema has not, as in production.
        var unknownFields: Set<String> = []
    }

    let state = Mutex(State())

    func record(_ name: String, in zone: ZoneID = .list) -> RecordSnapshot? {
        state.withLock { $0.zones[zone]?.records[name]?.record }
    }

    func names(in zone: ZoneID = .list) -> [String] {
        state.withLock { state in
            (state.zones[zone]?.records.filter { $0.value.record != nil }.keys).map { $0.sorted() }
                ?? []
        }
    }

    func deleteZone(_ zone: ZoneID, reason: ZoneDeletionReason = .deleted) {
        state.withLock { state in
            state.version += 1
            state.zones[zone] = nil
            state.changedAt[zone] = nil
            state.deletedZones.append((zone, reason, state.version))
        }
    }

    /// Forgets a zone without telling, as a restored service does.
    func loseZone(_ zone: ZoneID) {
        state.withLock {
            $0.zones[zone] = nil
            $0.changedAt[zone] = nil
        }
    }

    /// Forgets a record without telling, as a restored service does.
    func loseRecord(_ name: String, in zone: ZoneID = .list) {
        state.withLock { $0.zones[zone]?.records[name] = nil }
    }

    /// What the service has now, as a back-up takes it.
    func copy() -> State { state.withLock { $0 } }

    /// Puts a copy back. What came since is lost, also to the tokens and tags that name it.
    func restore(_ copy: State) {
        state.withLock { state in
            let (clock, generation) = (state.clockMilliseconds, state.generation)
            state = copy
            state.clockMilliseconds = clock
            state.generation = generation + 1
            for (id, zone) in copy.zones {
                state.zones[id]?.generation = generation + 1
                state.zones[id]?.lastIntactVersion = Int64(zone.version)
            }
        }
    }

    /// Time goes by, on every device.
    func pass(milliseconds: Int64 = 1_000) {
        state.withLock { $0.clockMilliseconds += milliseconds }
    }

    func createZone(_ zone: ZoneID) {
        state.withLock { $0.createZone(zone) }
    }

    /// Makes every token given out so far expire, and purges tombstones.
    func expireTokens() {
        state.withLock { state in
            state.generation += 1
            for zone in state.zones.keys {
                state.zones[zone]?.generation = state.generation
                for (name, stored) in state.zones[zone]?.records ?? [:] where stored.record == nil {
                    state.zones[zone]?.records[name] = nil
                }
            }
            state.deletedZones = []
        }
    }
}

extension MemoryCloud.State {
    mutating func createZone(_ id: ZoneID) {
        guard zones[id] == nil else { return }
        version += 1
        zones[id] = MemoryCloud.Zone(generation: generation)
        changedAt[id] = version
    }

    mutating func store(_ record: RecordSnapshot?, _ name: String, _ zone: ZoneID) {
        version += 1
        changedAt[zone] = version
        let number = (zones[zone]?.version ?? 0) + 1
        zones[zone]?.version = number
        zones[zone]?.records[name] = MemoryCloud.Stored(record: record, version: number)
    }

    private func recordCount(of owner: String) -> Int {
        zones.filter { $0.key.ownerName == owner }.values
            .map { $0.records.values.count { $0.record != nil } }.reduce(0, +)
    }

    /// Whether the record's parent, or a child of it, stands against a change.
    private func violatesReference(_ item: OutgoingChange, in batch: [OutgoingChange]) -> Bool {
        guard checksParents else { return false }
        let records = zones[item.change.id.zoneID]?.records ?? [:]
        let changed = Dictionary(
            batch.map { ($0.change.id.name, $0.client) }, uniquingKeysWith: { $1 })
        if let client = item.client {
            guard let parent = client.parentRecordName else { return false }
            return (changed[parent] ?? records[parent]?.record) == nil
        }
        return records.contains { name, stored in
            stored.record?.parentRecordName == item.change.id.name
                && !(changed.keys.contains(name) && changed[name] == .some(nil))
        }
    }

    mutating func answer(
        _ item: OutgoingChange, in batch: [OutgoingChange] = []
    ) -> OutgoingAnswer {
        let id = item.change.id
        guard zones[id.zoneID] != nil else {
            return .failed(SyncFailure(.zoneNotFound), server: nil)
        }
        if let refusal = refusals[id.name] { return .failed(refusal, server: nil) }
        if let client = item.client,
            client.fields.contains(where: { unknownFields.contains($0.name) })
        {
            return .failed(SyncFailure(.invalidArguments), server: nil)
        }
        if violatesReference(item, in: batch) {
            return .failed(SyncFailure(.referenceViolation), server: nil)
        }
        let found = zones[id.zoneID]?.records[id.name]?.record
        guard var client = item.client else {
            if let base = item.base?.system, let found, base.changeTag != found.system?.changeTag {
                return .failed(SyncFailure(.serverRecordChanged), server: found)
            }
            if found != nil { store(nil, id.name, id.zoneID) }
            return .deleted(tag: nil)
        }
        switch (item.base?.system, found) {
        case (nil, let found?):
            return .failed(SyncFailure(.serverRecordChanged), server: found)
        case (.some, nil): return .failed(SyncFailure(.unknownItem), server: nil)
        case (let base?, let found?) where base.changeTag != found.system?.changeTag:
            return .failed(SyncFailure(.serverRecordChanged), server: found)
        default: break
        }
        if found == nil, let room = room[id.zoneID.ownerName],
            recordCount(of: id.zoneID.ownerName) >= room
        {
            return .failed(SyncFailure(.quotaExceeded), server: nil)
        }
        clockMilliseconds += 1_000
        saveCount += 1
        let version = (zones[id.zoneID]?.version ?? 0) + 1
        let tag = "\(String(version, radix: 36)).\(generation)"
        client.system = .init(
            changeTag: tag,
            createdMilliseconds: found?.system?.createdMilliseconds ?? clockMilliseconds,
            modifiedMilliseconds: clockMilliseconds)
        store(client, id.name, id.zoneID)
        return .saved(client.system ?? .init(changeTag: tag))
    }
}

/// One device's way to the cloud, with faults by script.
final class CloudLink: RemoteDatabase {
    enum Fault {
        /// The request never arrives.
        case requestLost(SyncFailure)
        /// The request is carried out, its answer never arrives.
        case answerLost
    }

    let cloud: MemoryCloud
    private let script = Mutex<[Int: Fault]>([:])
    private let calls = Mutex<[String]>([])
    private let beforeSend = Mutex<(@Sendable () -> Void)?>(nil)
    private let duringSend = Mutex<(@Sendable () async throws -> Void)?>(nil)
    private let duringPage = Mutex<(@Sendable () async throws -> Void)?>(nil)
    private let user = Mutex("_alice")
    private let accounts = Mutex<[AsyncStream<Void>.Continuation]>([])
    private let databasePages = Mutex<[DatabasePage]>([])
    let scope: CKDatabase.Scope

    let isAppleService: Bool

    init(
        _ cloud: MemoryCloud, scope: CKDatabase.Scope = .private, isAppleService: Bool = false
    ) {
        self.cloud = cloud
        self.scope = scope
        self.isAppleService = isAppleService
    }

    func userRecordName() async throws -> String {
        guard hasAccount else { throw SyncFailure(.notAuthenticated) }
        return user.withLock { $0 }
    }

    var hasAccount: Bool { !user.withLock(\.isEmpty) }

    /// Nobody is signed in on the device.
    func signOut() { signIn("") }

    func accountChanges() -> AsyncStream<Void> {
        let (changes, continuation) = AsyncStream.makeStream(of: Void.self)
        accounts.withLock { $0.append(continuation) }
        return changes
    }

    /// Somebody else signs in on the device.
    func signIn(_ name: String) {
        user.withLock { $0 = name }
        for continuation in accounts.withLock({ $0 }) { continuation.yield() }
    }

    /// Answers the next fetch of the database's changes with these pages.
    func give(_ pages: [DatabasePage]) { databasePages.withLock { $0 = pages } }

    var callNames: [String] { calls.withLock { $0 } }

    /// Lets the call of this number, counted from now, fail.
    func fail(call number: Int, _ fault: Fault) {
        let made = calls.withLock { $0.count }
        script.withLock { $0[made + number] = fault }
    }

    /// Runs once before the next batch arrives.
    func beforeNextSend(_ body: @escaping @Sendable () -> Void) {
        beforeSend.withLock { $0 = body }
    }

    /// Runs once while the next batch is under way.
    func duringNextSend(_ body: @escaping @Sendable () async throws -> Void) {
        duringSend.withLock { $0 = body }
    }

    /// Runs once while the next page of a zone is under way.
    func duringNextPage(_ body: @escaping @Sendable () async throws -> Void) {
        duringPage.withLock { $0 = body }
    }

    private func call<Answer>(
        _ name: String, _ body: (inout MemoryCloud.State) throws -> Answer
    ) throws -> Answer {
        let number = calls.withLock { calls in
            calls.append(name)
            return calls.count - 1
        }
        let fault = script.withLock { $0[number] }
        if case .requestLost(let failure) = fault { throw failure }
        let answer = try cloud.state.withLock { state in try body(&state) }
        if case .answerLost = fault { throw SyncFailure(.serverResponseLost) }
        return answer
    }

    func modifyZones(create: [ZoneID], delete: [ZoneID]) async throws -> ZoneOutcomes {
        try call("zones") { state in
            if create.count + delete.count > state.zoneLimit { throw SyncFailure(.limitExceeded) }
            var outcomes = ZoneOutcomes()
            for id in create {
                if let refusal = state.zoneRefusals[id] {
                    outcomes.created[id] = .some(refusal)
                    continue
                }
                state.createZone(id)
                outcomes.created[id] = .some(nil)
            }
            for id in delete {
                if let refusal = state.zoneRefusals[id] {
                    outcomes.deleted[id] = .some(refusal)
                    continue
                }
                outcomes.deleted[id] =
                    state.zones[id] == nil ? SyncFailure(.zoneNotFound) : .some(nil)
                state.version += 1
                state.zones[id] = nil
                state.changedAt[id] = nil
                state.deletedZones.append((id, .deleted, state.version))
            }
            return outcomes
        }
    }

    func saveSubscription() async throws {
        try call("subscription") { $0.subscriptionCount += 1 }
    }

    func send(_ changes: [OutgoingChange], isAtomic: Bool) async throws -> [OutgoingAnswer] {
        beforeSend.withLock { $0.take() }?()
        let answers = try call("send") { state in
            if changes.count > state.itemLimit { throw SyncFailure(.limitExceeded) }
            return changes.map { state.answer($0, in: changes) }
        }
        try await duringSend.withLock { $0.take() }?()
        return answers
    }

    func records(_ ids: [RecordID]) async throws -> [Result<RecordSnapshot?, SyncFailure>] {
        try call("records") { state in
            ids.map { .success(state.zones[$0.zoneID]?.records[$0.name]?.record) }
        }
    }

    func databaseChanges(
        since token: String?, deletionsAfter version: Int64?
    ) async throws -> DatabasePage {
        let scripted = databasePages.withLock { $0.isEmpty ? nil : $0.removeFirst() }
        if let scripted { return scripted }
        return try call("database") { state in
            let parts = (token ?? "\(state.generation).0").split(separator: ".").map {
                Int($0) ?? 0
            }
            guard parts[0] == state.generation else { throw SyncFailure(.changeTokenExpired) }
            let since = token == nil ? 0 : parts[1]
            return DatabasePage(
                changed: state.changedAt.filter { $0.value > since }.map(\.key)
                    .sorted { $0.name < $1.name },
                deleted: token == nil
                    ? []
                    : state.deletedZones.filter { $0.version > since }.map { ($0.zone, $0.reason) },
                token: "\(state.generation).\(state.version)")
        }
    }

    func hints() -> AsyncStream<HintEvent> { AsyncStream { $0.finish() } }

    func hint(of notification: CKNotification) -> ChangeHint? { nil }

    func zoneChanges(
        _ id: ZoneID, since token: String?, knowing tags: [String], limit: Int?
    ) async throws -> ZonePage {
        let page = try call("page") { state in try state.page(of: id, since: token) }
        try await duringPage.withLock { $0.take() }?()
        return page
    }
}

extension MemoryCloud.State {
    fileprivate func page(of id: ZoneID, since token: String?) throws -> ZonePage {
        guard let zone = zones[id] else { throw SyncFailure(.zoneNotFound) }
        let parts = (token ?? "\(zone.generation).0").split(separator: ".").map { Int($0) ?? 0 }
        guard parts[0] == zone.generation else {
            throw SyncFailure(.changeTokenExpired, lastIntactVersion: zone.lastIntactVersion)
        }
        let since = token == nil ? 0 : parts[1]
        let changes = zone.records.filter { $0.value.version > since }
            .sorted { $0.value.version < $1.value.version }
        let page = changes.prefix(pageSize)
        let isLast = page.count == changes.count
        return ZonePage(
            records: page.compactMap(\.value.record),
            deletedNames: page.filter { $0.value.record == nil }.map(\.key),
            token:
                "\(zone.generation).\(isLast ? zone.version : page.last?.value.version ?? 0)",
            moreComing: !isLast)
    }
}

extension ZoneID {
    static let list = ZoneID(name: "List")
    static let other = ZoneID(name: "Other")
}
