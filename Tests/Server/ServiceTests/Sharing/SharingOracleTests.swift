import StratusRecords
import StratusService
import StratusStorage
import StratusTesting
import StratusWire
import TestSeeds
import Testing

/// Promise P9: no user ever sees or writes anything without permission, and every user sees all permitted records.
///
/// Five users share, move, save, delete, invite, join, leave and stop sharing at random. After every step, every
/// user's result of every way of reading equals the model.
@Suite struct SharingOracleTests {
    @Test(arguments: Seeds.forTest("SharingOracleTests", count: 8))
    func visibleRecordsEqualTheSharingModel(_ seed: UInt64) async throws {
        var play = try await SharingPlay(Backend.memory, seed: seed)
        for _ in 0..<250 { try await play.step() }
        try await play.checkEverything()
    }

    @Test(arguments: Seeds.forTest("SharingOracleTests on disk", count: 2))
    func visibleRecordsEqualTheSharingModelOnDisk(_ seed: UInt64) async throws {
        var play = try await SharingPlay(Backend.sqlite, seed: seed)
        for _ in 0..<60 { try await play.step() }
        try await play.checkEverything()
    }

    /// Small limits: most changes are carried out in steps, some of them between the users' requests. No user ever
    /// sees too much; at the end every user sees the same as without steps.
    @Test(arguments: Seeds.forTest("SharingOracleTests in steps", count: 4))
    func visibleRecordsOfChangesInStepsStayWithinTheSharingModel(_ seed: UInt64) async throws {
        var limits = Limits()
        limits.recordsPerShareChange = 0
        limits.recordsPerStep = 1
        var play = try await SharingPlay(Backend.memory, seed: seed, limits: limits)
        play.hasTallTrees = true
        for _ in 0..<250 { try await play.step() }
        // Each long change takes its first step with the request, and small changes have no other, so the number of
        // steps is random. A run without any shows nothing about steps, so it continues.
        for _ in 0..<2_500 where play.stepsTaken == 0 { try await play.step() }
        try await play.finishSteps()
        try await play.checkEverything()
        play.expect(play.stepsTaken > 0, "no step was left to take")
    }
}

/// A random play of five users, checked against ``SharingModel``.
struct SharingPlay {
    static let recordNames = (0..<12).map { "r\($0)" }

    let seed: UInt64
    var numbers: SeededNumbers
    let world: World
    var people: [Person] = []
    var model: SharingModel
    var followers: [SharingFollower] = []
    /// All links so far, with their zones and shares.
    var links: [(zone: Int, share: String, shortGUID: String)] = []
    var stepNumber = 0
    var shareNumber = 0
    var story = ""
    /// The zones that have steps left.
    var unfinished: Set<Int> = []
    /// The zones that many records are leaving.
    var departing: Set<Int> = []
    var stepsTaken = 0
    /// Whether most records are saved below others.
    var hasTallTrees = false

    init(_ backend: Backend, seed: UInt64, limits: Limits = Limits()) async throws {
        self.seed = seed
        numbers = SeededNumbers(seed: seed)
        world = World(try backend.storage(), limits: limits, startsLongChanges: false)
        for index in 0..<5 { people.append(try await world.person("u\(index)@example.org")) }
        model = SharingModel(zones: [
            .init(owner: 0, name: "A"), .init(owner: 0, name: "B"), .init(owner: 1, name: "A"),
            .init(owner: 2, name: "C"),
        ])
        for zone in model.zones { try await people[zone.owner].makeZone(zone.name) }
        followers = people.indices.map { SharingFollower(person: people[$0], user: $0) }
    }

    mutating func pick<Element>(_ list: [Element]) -> Element? {
        list.randomElement(using: &numbers)
    }

    mutating func chance(_ one: Int, in all: Int) -> Bool {
        Int.random(in: 0..<all, using: &numbers) < one
    }

    func zoneID(_ zone: Int) -> ZoneIDDictionary {
        zone_(model.zones[zone])
    }

    private func zone_(_ zone: SharingModel.Zone) -> ZoneIDDictionary {
        ZoneIDDictionary(zoneName: zone.name, ownerRecordName: people[zone.owner].name)
    }

    func scope(_ user: Int, _ zone: Int) -> DatabaseScope {
        model.zones[zone].owner == user ? .private : .shared
    }

    mutating func step() async throws {
        stepNumber += 1
        let zone = Int.random(in: 0..<model.zones.count, using: &numbers)
        switch Int.random(in: 0..<100, using: &numbers) {
        case 0..<34: try await save(zone)
        case 34..<42: try await delete(zone)
        case 42..<52: try await startSharing(zone)
        case 52..<64: try await changeShare(zone)
        case 64..<68: try await stopSharing(zone)
        case 68..<84: try await follow()
        case 84..<90: try await leave(zone)
        case 90..<96: try await plantTree(zone)
        case 96..<98: try await leaveZone(zone)
        default: try await renewZone(zone)
        }
        if chance(1, in: 3) { try await takeStep(of: model.zones[zone].owner) }
        if chance(1, in: 20) { try await finishSteps() }
        try await noteUnfinishedZones()
        try await check(zone)
        for index in followers.indices where chance(1, in: 4) {
            try await catchUp(index)
        }
    }

    // MARK: Users' requests

    /// A user saves a record: a new one, a change or a move.
    private mutating func save(_ zone: Int) async throws {
        let user = Int.random(in: 0..<5, using: &numbers)
        guard let name = pick(Self.recordNames) else { return }
        let value = Int64.random(in: 0..<1_000, using: &numbers)
        var parent = RecordDictionary.ParentChange.absent
        let above = hasTallTrees ? model.zones[zone].records.keys.sorted() : Self.recordNames
        if chance(hasTallTrees ? 5 : 3, in: 6), let other = pick(above), other != name,
            !model.zones[zone].isBelow(other, name)
        {
            parent = .some(other)
        } else if chance(1, in: 6) {
            parent = .none
        }
        story = "user \(user) saves \(name) with \(parent) in zone \(zone)"
        let allowed = canSave(user, name, parent, zone)
        let result = try await people[user].modify(
            [hut(.forceUpdate, name, [beds(value)], parent: parent)], in: zoneID(zone),
            scope: scope(user, zone))[0]
        let isFinished = user == model.zones[zone].owner || !unfinished.contains(zone)
        let hasSaved = result.failed == nil
        // As long as he does not see everything, he may be refused.
        expect(
            isFinished ? hasSaved == allowed : !hasSaved || allowed,
            "save: \(String(describing: result.failed))")
        guard hasSaved else { return }
        var record = model.zones[zone].records[name] ?? .init(parent: nil, value: 0)
        record.value = value
        switch parent {
        case .absent: break
        case .none: record.parent = nil
        case .some(let other): record.parent = other
        }
        model.zones[zone].records[name] = record
    }

    private func canSave(
        _ user: Int, _ name: String, _ parent: RecordDictionary.ParentChange, _ index: Int
    ) -> Bool {
        let zone = model.zones[index]
        guard zone.isVisible(to: user) else { return false }
        let old = zone.records[name]
        if old != nil, !zone.canWrite(user, name) { return false }
        if case .some(let other) = parent {
            guard zone.records[other] != nil, zone.canRead(user, other) else { return false }
        }
        var after = zone
        var record = old ?? .init(parent: nil, value: 0)
        switch parent {
        case .absent: break
        case .none: record.parent = nil
        case .some(let other): record.parent = other
        }
        after.records[name] = record
        return after.canWrite(user, name)
    }

    private mutating func delete(_ zone: Int) async throws {
        let user = Int.random(in: 0..<5, using: &numbers)
        guard let name = pick(Self.recordNames) else { return }
        story = "user \(user) deletes \(name) in zone \(zone)"
        let current = model.zones[zone]
        // A record that he does not see yet counts as deleted for him.
        guard user == current.owner || !unfinished.contains(zone) else { return }
        let isThere =
            current.records[name] != nil && current.isVisible(to: user)
            && current.canRead(user, name)
        let isRoot = current.shares.values.contains { $0.root == name }
        let allowed =
            current.canWrite(user, name) && !current.hasChildren(name)
            && (user == current.owner || !isRoot)
        let result = try await people[user].modify(
            [hut(.forceDelete, name)], in: zoneID(zone), scope: scope(user, zone))[0]
        if !current.isVisible(to: user) {
            expect(result.code == .zoneNotFound, "delete in a hidden zone")
        } else if isThere {
            expect(
                (result.failed == nil) == allowed, "delete: \(String(describing: result.failed))")
            if allowed { model.zones[zone].delete(name) }
        } else {
            expect(result.failed == nil, "deleting what is not there")
        }
    }

    private mutating func wishes(_ zone: Int, _ old: SharingModel.Share?) -> SharingModel.Share {
        let permissions: [SharePermission] = [.none, .readOnly, .readWrite, .readWrite]
        var share = old ?? .init(root: nil, publicPermission: .none, shortGUID: "")
        for user in 0..<5 where user != model.zones[zone].owner {
            if let participant = share.participants[user] {
                if chance(1, in: 6) {
                    share.participants[user] = nil
                } else if !participant.isPublic, chance(1, in: 3) {
                    share.participants[user]?.permission = pick(permissions) ?? .none
                }
            } else if chance(1, in: 3) {
                share.participants[user] = .init(
                    permission: pick(permissions) ?? .none, status: .invited,
                    isInvitedByEmail: chance(1, in: 2))
            }
        }
        return share
    }

    private func dictionaries(_ share: SharingModel.Share) -> [ParticipantDictionary] {
        share.participants.sorted { $0.key < $1.key }.map { user, participant in
            participant.isInvitedByEmail
                ? invited("U\(user)@example.org", participant.permission)
                : invited(people[user], participant.permission)
        }
    }

    private mutating func startSharing(_ zone: Int) async throws {
        shareNumber += 1
        let root = chance(1, in: 6) ? nil : pick(Self.recordNames)
        let name = root == nil ? ShareDictionary.zoneShareName : "Share-\(shareNumber)"
        var wanted = wishes(zone, nil)
        wanted.root = root
        wanted.publicPermission = chance(1, in: 3) ? .readOnly : .none
        story = "zone \(zone) is shared from \(root ?? "all of it") as \(name)"
        let current = model.zones[zone]
        let allowed =
            root.map {
                current.records[$0] != nil && current.root(of: $0) == nil && !current.isWhole
            }
            ?? current.shares.isEmpty
        let result = try await people[current.owner].modify(
            [
                share(
                    .create, name, of: root, permission: wanted.publicPermission,
                    participants: dictionaries(wanted))
            ], in: zoneID(zone), scope: .private)[0]
        if unfinished.contains(zone), result.code == .zoneBusy { return }
        expect((result.failed == nil) == allowed, "share: \(String(describing: result.failed))")
        guard allowed else { return }
        wanted.shortGUID = result.record?.shortGUID ?? ""
        links.append((zone, name, wanted.shortGUID))
        model.zones[zone].shares[name] = wanted
    }

    /// A root, a record below it and the share, all in one request.
    private mutating func plantTree(_ zone: Int) async throws {
        let current = model.zones[zone]
        let free = Self.recordNames.filter { current.records[$0] == nil }
        guard free.count >= 2, !current.isWhole else { return }
        shareNumber += 1
        let name = "Share-\(shareNumber)"
        var wanted = wishes(zone, nil)
        wanted.root = free[0]
        story = "zone \(zone) gets the tree \(free[0]) as \(name)"
        var operations = [
            hut(.create, free[1], [beds(2)], parent: .some(free[0])),
            share(.create, name, of: free[0], participants: dictionaries(wanted)),
            hut(.create, free[0], [beds(1)]),
        ]
        operations.shuffle(using: &numbers)
        let results: [RecordResult]
        do {
            results = try await people[current.owner].modify(
                operations, in: zoneID(zone), isAtomic: true, scope: .private)
        } catch let failure as RequestFailure where unfinished.contains(zone) {
            expect(failure.records?.contains { $0.code == .zoneBusy } == true, "\(failure)")
            return
        }
        let made = results.compactMap(\.record).first { $0.recordName == name }
        expect(made != nil, "a tree in one request")
        wanted.shortGUID = made?.shortGUID ?? ""
        links.append((zone, name, wanted.shortGUID))
        model.zones[zone].shares[name] = wanted
        model.zones[zone].records[free[0]] = .init(parent: nil, value: 1)
        model.zones[zone].records[free[1]] = .init(parent: free[0], value: 2)
    }

    private mutating func changeShare(_ zone: Int) async throws {
        guard let name = pick(model.zones[zone].shares.keys.sorted()) else { return }
        let user =
            chance(1, in: 5) ? Int.random(in: 0..<5, using: &numbers) : model.zones[zone].owner
        guard let old = model.zones[zone].shares[name] else { return }
        let wanted = wishes(zone, old)
        let permission = pick([SharePermission.none, .readOnly, .readWrite, .unknown]) ?? .none
        story = "user \(user) changes \(name) in zone \(zone) to \(permission)"
        let result = try await people[user].modify(
            [
                share(
                    .forceUpdate, name, permission: permission == .unknown ? nil : permission,
                    participants: dictionaries(wanted))
            ], in: zoneID(zone), scope: scope(user, zone))[0]
        let isOwner = user == model.zones[zone].owner
        expect((result.failed == nil) == isOwner, "change: \(String(describing: result.failed))")
        guard isOwner else { return }
        model.zones[zone].shares[name]?.participants = wanted.participants.mapValues {
            var participant = $0
            let isOut = !participant.isPublic && participant.permission == .none
            if isOut, participant.status == .accepted { participant.status = .removed }
            return participant
        }
        model.zones[zone].setPublicPermission(
            permission == .unknown ? old.publicPermission : permission, of: name)
        let seen = result.record?.share?.participants?.map(\.status.rawValue).sorted() ?? []
        let expected = model.zones[zone].shares[name]?.participants.values.map(\.status.rawValue)
        expect(seen == ((expected ?? []) + ["ACCEPTED"]).sorted(), "the owner's list \(seen)")
    }

    private mutating func stopSharing(_ zone: Int) async throws {
        guard let name = pick(model.zones[zone].shares.keys.sorted()) else { return }
        story = "\(name) of zone \(zone) is stopped"
        let result = try await people[model.zones[zone].owner].modify(
            [share(.forceDelete, name)], in: zoneID(zone), scope: .private)[0]
        expect(result.failed == nil, "stop: \(String(describing: result.failed))")
        model.zones[zone].shares[name] = nil
    }

    private mutating func follow() async throws {
        guard let link = pick(Array(links.suffix(8))) else { return }
        let user = Int.random(in: 0..<5, using: &numbers)
        story = "user \(user) follows the link of \(link.share) in zone \(link.zone)"
        let share = model.zones[link.zone].shares[link.share]
        let allowed =
            share?.shortGUID == link.shortGUID && model.zones[link.zone].canJoin(user, link.share)
        let resolved = try await people[user].resolve(link.shortGUID, root: true)
        expect((resolved.metadata?.share != nil) == allowed, "resolve: \(resolved)")
        if !allowed { expect(resolved.metadata?.zoneID == nil, "a hidden share shows its zone") }
        let result = try await people[user].accept(link.shortGUID)
        expect((result.error == nil) == allowed, "accept: \(result)")
        if allowed { model.zones[link.zone].join(user, link.share) }
        try await check(link.zone)
    }

    private mutating func leave(_ zone: Int) async throws {
        let user = Int.random(in: 0..<5, using: &numbers)
        guard let name = pick(model.zones[zone].shares.keys.sorted()),
            user != model.zones[zone].owner
        else { return }
        story = "user \(user) leaves \(name) in zone \(zone)"
        let isIn = model.zones[zone].shares[name]?.permission(of: user) != SharePermission.none
        let isVisible = model.zones[zone].isVisible(to: user)
        let result = try await people[user].modify(
            [share(.delete, name)], in: zoneID(zone), scope: .shared)[0]
        expect((result.failed == nil) == isVisible, "leave: \(String(describing: result.failed))")
        if isIn { model.zones[zone].leave(user, name) }
    }

    private mutating func leaveZone(_ zone: Int) async throws {
        let user = Int.random(in: 0..<5, using: &numbers)
        guard user != model.zones[zone].owner else { return }
        story = "user \(user) deletes zone \(zone) in the shared database"
        _ = try await people[user].ask(
            ZonesModify.self, .init(operations: [.init(.delete, zoneID(zone))]), in: .shared)
        for (name, share) in model.zones[zone].shares where share.permission(of: user) != .none {
            model.zones[zone].leave(user, name)
        }
    }

    private mutating func renewZone(_ zone: Int) async throws {
        guard chance(1, in: 3) else { return }
        story = "zone \(zone) is deleted and made again"
        let old = model.zones[zone]
        try await people[old.owner].deleteZone(old.name)
        try await check(zone, isThere: false)
        try await people[old.owner].makeZone(old.name)
        model.zones[zone] = .init(owner: old.owner, name: old.name)
    }
}
