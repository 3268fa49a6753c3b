import StratusRecords
import StratusStorage
import StratusTesting

/// Random requests to a store, the same for the same seed. There are few zones, records and users, so that
/// requests affect each other's rows.
struct StoreScript {
    struct Request: Sendable {
        var actions: [StoreAction]
        /// Whether the closure throws at the end.
        var isUndone: Bool
    }

    private var random: SeededNumbers
    /// Counts values that must be unique: moments at which assets were touched, blobs.
    private var count: Int64 = 0
    private var deletedAncestors: (version: Int64, zone: String) = (0, "A")

    init(seed: UInt64) {
        random = SeededNumbers(seed: seed)
    }

    mutating func next() -> Request {
        let actions = (0...number(3)).map { _ in action() }
        return Request(actions: actions, isUndone: chance(10))
    }

    private mutating func action() -> StoreAction {
        switch number(9) {
        case 0...2: recordWrite()
        case 3: derivedWrite()
        case 4: sharingWrite()
        case 5: deviceWrite()
        case 6: recordRead()
        case 7: derivedRead()
        case 8: sharingRead()
        case _: .readAll
        }
    }

    // MARK: Values

    private mutating func chance(_ percent: Int) -> Bool { number(99) < percent }
    private mutating func number(_ upTo: Int) -> Int { Int.random(in: 0...upTo, using: &random) }
    private mutating func version() -> Int64 { Int64(number(chance(50) ? 300 : 3_000)) }
    private mutating func zone() -> String { ["A", "A", "b", "_defaultZone"][number(3)] }
    private mutating func device() -> String { ["phone", "tablet"][number(1)] }
    private mutating func user() -> String { "_u\(number(2))" }
    private mutating func name() -> String { "r\(number(25))" }
    private mutating func share() -> String { "share\(number(3))" }
    private mutating func bytes() -> [UInt8] { (0..<number(4)).map { UInt8($0) } }
    private mutating func limit() -> Int { number(12) }
    private mutating func payloadBytes() -> Int { chance(70) ? .max : number(30) }
    private mutating func digest() -> [UInt8] { Array(repeating: UInt8(number(5)), count: 32) }
    private mutating func index() -> IndexRow.Key { .init(rawValue: Int64(1 + number(4))) }
    private mutating func type() -> String { "T\(number(1))" }

    private mutating func names() -> [String] {
        Array(Set((0...number(6)).map { _ in name() })).sorted()
    }

    /// Rarely more roots than the number from which a page is merged.
    private mutating func roots() -> [String] {
        chance(10) ? (0..<20).map { "r\($0)" } : Array(names().prefix(3))
    }

    private mutating func cursor() -> ChangeCursor {
        ChangeCursor(
            version: version(), skipTombstonesThrough: chance(50) ? 0 : version(),
            device: device())
    }

    private mutating func operation() -> OperationKey {
        OperationKey(user: user(), device: device(), operation: "\(number(3))")
    }

    private mutating func reference() -> StoreAction.Reference {
        .init(
            zone: zone(), target: name(), action: chance(50) ? .deleteSelf : .validate,
            holder: name())
    }

    private mutating func entry() -> IndexEntry { IndexEntry(key: bytes(), name: name()) }

    private mutating func moment() -> Int64 {
        count += 1
        return count
    }

    // MARK: Actions

    private mutating func ancestorDeletion() -> StoreAction {
        deletedAncestors = (version(), zone())
        return .deleteAncestors(through: deletedAncestors.version, zone: deletedAncestors.zone)
    }

    /// Often the last deleted record, since mistakes are most likely at the boundary.
    private mutating func ancestorRead() -> StoreAction {
        chance(50)
            ? .ancestor(deletedAncestors.version, zone: deletedAncestors.zone)
            : .ancestor(version(), zone: zone())
    }

    private mutating func recordWrite() -> StoreAction {
        switch number(19) {
        case 0: .createZone(zone(), hasFeed: chance(50))
        case 1:
            chance(30)
                ? .deleteZone(zone(), ZoneRow.Deletion(rawValue: 1 + number(2)) ?? .deleted)
                : .createZone(zone(), hasFeed: chance(50))
        case 2: .takeVersions(number(3), zone: zone())
        case 3: .purge(through: version(), zone: zone())
        case _:
            .save(
                .init(
                    names: names(), zone: zone(), isDeleted: chance(30), device: device(),
                    parent: chance(30) ? name() : nil, shareRoot: chance(40) ? name() : nil,
                    modifiedMilliseconds: Int64(number(50)), keepsAncestors: chance(50)))
        }
    }

    private mutating func derivedWrite() -> StoreAction {
        switch number(13) {
        case 0: ancestorDeletion()
        case 1: .deleteAncestor(version(), zone: zone())
        case 2...3: .putReference(reference())
        case 4: .deleteReference(reference())
        case 5: .deleteReferences(holder: name(), zone: zone())
        case 6: .createIndex(type: type(), field: name())
        case 7: .updateIndex(index(), progress: name(), zone: zone())
        case 8: chance(30) ? .deleteIndex(index()) : .putEntry(entry(), index(), zone: zone())
        case 9: .deleteEntry(entry(), index(), zone: zone())
        case 10: .admitAsset(digest(), bytes: number(9), moment: moment())
        case 11:
            .setAssets(
                (0..<number(2)).reduce(into: []) { all, _ in all.insert(digest()) },
                record: name(), zone: zone())
        case 12: .touchAssets(moment: moment())
        case _: .takeAssets(before: moment() - Int64(number(3)))
        }
    }

    private mutating func sharingWrite() -> StoreAction {
        switch number(9) {
        case 0...2:
            .putShare(
                share(), root: chance(80) ? name() : nil, users: [user(), user()], zone: zone())
        case 3: .deleteShare(share(), zone: zone())
        case 4...6: .leaveView(name(), root: name(), zone: zone())
        case 7: .returnToView(name(), root: name(), zone: zone())
        case _: .putSharedZone(owner: user(), name: zone(), isDeleted: chance(30))
        }
    }

    private mutating func deviceWrite() -> StoreAction {
        switch number(6) {
        case 0: .subscribe(user: user(), identifier: "\(number(3))", body: bytes())
        case 1: .unsubscribe(user: user(), identifier: "\(number(3))")
        case 2: .keepOutcome(operation(), bytes(), expires: Int64(number(50)))
        case 3: .expireOutcomes(Int64(number(50)))
        case 4...5: .enqueue(bytes())
        case _: .dequeue(through: Int64(number(60)))
        }
    }

    private mutating func recordRead() -> StoreAction {
        switch number(6) {
        case 0: .records(names(), zone: zone())
        case 1: .scan(type: type(), zone: zone(), after: chance(50) ? name() : nil)
        case 2: .zones(after: version(), limit: limit())
        case 3:
            .recordsByName(
                zone: zone(), after: name(), limit: limit(), payloadBytes: payloadBytes())
        case 4: .oldTombstones(before: Int64(number(50)), zone: zone(), limit: limit())
        case _:
            .changes(zone: zone(), cursor(), limit: limit(), payloadBytes: payloadBytes())
        }
    }

    private mutating func derivedRead() -> StoreAction {
        switch number(3) {
        case 0: .holders(target: name(), zone: zone(), limit: limit())
        case 1: ancestorRead()
        case 2: .asset(digest())
        case _: .entries(index(), zone: zone(), between: entry(), entry(), limit: limit())
        }
    }

    private mutating func sharingRead() -> StoreAction {
        switch number(4) {
        case 0: .family(of: name(), zone: zone(), limit: limit())
        case 1: .share(share(), zone: zone(), user: user())
        case 2: .sharedZones(after: version(), limit: limit(), owner: user())
        case _:
            .sharedChanges(
                zone: zone(), roots: roots(), cursor(), limit: limit(),
                payloadBytes: payloadBytes())
        }
    }
}
