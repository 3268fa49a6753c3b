import StratusRecords
import StratusService
import StratusStorage
import StratusTesting
import StratusWire
import TestSeeds
import Testing

/// Random requests of every kind that writes a record: afterwards every derived row matches the records, and the
/// doctor finds nothing.
@Suite struct DerivedRowsPropertyTests {
    @Test(arguments: Seeds.forTest("DerivedRowsPropertyTests", count: 4))
    func derivedRowsFitTheRecords(_ seed: UInt64) async throws {
        var play = try await WritingPlay(seed: seed)
        for _ in 0..<60 {
            try await play.step()
            try await expectDerivedRowsFit(
                play.place.storage, play.place.database(of: play.alice), "\(play.comment)")
        }
        try await play.place.expectHealth(of: play.bob, comment: "\(play.comment)")
    }
}

/// Alice, who has two zones and shares them, and Bob, who joins.
private struct WritingPlay {
    private static let names = (0..<7).map { "r\($0)" }
    private static let shareNames = ["Share-0", "Share-1", ShareDictionary.zoneShareName]
    private static let zoneNames = ["Trips", "Plans"]

    let place: StoredWorld
    let alice: Person
    let bob: Person
    private let seed: UInt64
    private var numbers: SeededNumbers
    private var links: Set<String> = []
    private var stepNumber = 0
    private var story: [String] = []

    /// The seed, the step and the last requests.
    var comment: String {
        "seed \(seed), step \(stepNumber): \(story.suffix(3).joined(separator: "; "))"
    }

    init(seed: UInt64) async throws {
        self.seed = seed
        numbers = SeededNumbers(seed: seed)
        var limits = Limits()
        limits.ancestorBytes = 150
        limits.ancestorChanges = 12
        limits.recordsPerCascade = 5
        limits.entriesPerIndexStep = 3
        place = StoredWorld(limits: limits)
        alice = try await place.world.person("alice")
        bob = try await place.world.person("bob")
        for name in Self.zoneNames { try await alice.makeZone(name) }
    }

    mutating func step() async throws {
        stepNumber += 1
        place.world.advance(seconds: 10)
        let zoneName = pick(Self.zoneNames)
        switch number(below: 20) {
        case 0..<10: try await modify(zoneName, isByAlice: true)
        case 10..<12: try await modify(zoneName, isByAlice: false)
        case 12..<15: try await follow()
        case 15: try await leave(zoneName)
        case 16: try await removeZone(zoneName)
        case 17: try await attachAgain(zoneName)
        case 18:
            story.append("the tombstones are purged")
            _ = try await place.world.service.purgeTombstones(olderThanSeconds: 30)
        default:
            story.append("alice saves her own record")
            try await alice.modify([hut(.forceUpdate, alice.name, [beds(1)], type: "Users")])
        }
        await place.world.service.waitUntilIdle()
    }

    // MARK: Requests

    private mutating func modify(_ zoneName: String, isByAlice: Bool) async throws {
        var operations: [RecordsModify.Operation] = []
        var taken: Set<String> = []
        for _ in 0...number(below: 4) {
            let operation =
                chance(1, in: 4) ? shareOperation() : try await recordOperation(zoneName, isByAlice)
            guard taken.insert(operation.record.recordName ?? "").inserted else { continue }
            operations.append(operation)
        }
        let isAtomic = chance(1, in: 4)
        let kinds = operations.map { "\($0.kind) \($0.record.recordName ?? "")" }
        story.append("\(isByAlice ? "alice" : "bob") in \(zoneName): \(kinds)")
        let results: [RecordResult]
        do {
            results = try await (isByAlice ? alice : bob).modify(
                operations, in: zone(zoneName, of: alice), isAtomic: isAtomic,
                scope: isByAlice ? .private : .shared)
        } catch is RequestFailure {
            // Refused as a whole; a refused request must change nothing.
            return
        }
        for result in results {
            if let shortGUID = result.record?.shortGUID { links.insert(shortGUID) }
        }
    }

    private mutating func recordOperation(
        _ zoneName: String, _ isByAlice: Bool
    ) async throws -> RecordsModify.Operation {
        let name = pick(Self.names)
        if chance(1, in: 4) { return hut(.forceDelete, name) }
        var fields = [
            beds(Int64(number(below: 5))),
            text("note", String(repeating: "x", count: chance(1, in: 4) ? 300 : 3)),
        ]
        if chance(1, in: 2) { fields.append(references()) }
        if isByAlice, chance(1, in: 4) {
            fields.append(
                photo(try await alice.upload([UInt8(number(below: 3)), 1], zoneName: zoneName)))
        }
        let parents: [RecordDictionary.ParentChange] = [
            .absent, .absent, .none, .some(pick(Self.names + Self.shareNames)),
        ]
        return hut(
            pick([.forceReplace, .forceUpdate]), name, fields,
            parent: pick(parents.filter { $0 != .some(name) }))
    }

    private mutating func references() -> Field {
        let count = number(below: 3)
        let targets = (0..<count).map { _ in pick(Self.names + Self.shareNames) }
        return Field(
            name: "others",
            value: .referenceList(
                targets.map {
                    Reference(
                        recordName: $0, action: chance(1, in: 2) ? .deleteSelf : .validate)
                }))
    }

    private mutating func shareOperation() -> RecordsModify.Operation {
        let name = pick(Self.shareNames)
        let root = name == ShareDictionary.zoneShareName ? nil : pick(Self.names)
        if chance(1, in: 5) { return share(.forceDelete, name) }
        var operation = share(
            chance(1, in: 2) ? .create : .forceUpdate, name, of: chance(2, in: 3) ? root : nil,
            permission: pick([.readOnly, .readWrite, SharePermission.none]),
            participants: chance(1, in: 2) ? [invited(bob, .readWrite)] : nil)
        if chance(1, in: 4) { operation.record.fields = .values([references()]) }
        return operation
    }

    private mutating func follow() async throws {
        guard !links.isEmpty else { return }
        let link = pick(links.sorted())
        story.append("bob follows a link")
        if chance(1, in: 4) {
            _ = try await bob.requestAccess(link)
        } else {
            _ = try await bob.accept(link)
        }
    }

    private mutating func leave(_ zoneName: String) async throws {
        story.append("bob leaves \(zoneName)")
        _ = try await bob.ask(
            ZonesModify.self,
            .init(operations: [.init(.delete, zone(zoneName, of: alice))]), in: .shared)
    }

    private mutating func removeZone(_ zoneName: String) async throws {
        story.append("\(zoneName) is deleted and made again")
        if chance(1, in: 2) {
            try await alice.deleteZone(zoneName)
        } else {
            try await place.world.service.removeZone(
                named: zoneName, of: alice.name, at: place.world.address, reason: .purged)
        }
        await place.world.service.waitUntilIdle()
        try await expectDerivedRowsFit(
            place.storage, place.database(of: alice), "\(comment)")
        try await alice.makeZone(zoneName)
    }

    /// Saves the asset of one record in another.
    private mutating func attachAgain(_ zoneName: String) async throws {
        story.append("an asset is attached again in \(zoneName)")
        let source = pick(Self.names)
        let found = try await alice.ask(
            AssetsRereference.self,
            .init(assets: [.init(recordName: source, fieldName: "photo")], zoneID: zone(zoneName)))
        guard case .success(let asset) = found.items[0] else { return }
        _ = try await alice.modify(
            [hut(.forceUpdate, pick(Self.names), [photo(asset)])], in: zone(zoneName, of: alice),
            scope: .private)
    }

    // MARK: Random choices

    private mutating func number(below limit: Int) -> Int {
        Int.random(in: 0..<limit, using: &numbers)
    }

    private mutating func chance(_ part: Int, in whole: Int) -> Bool { number(below: whole) < part }

    private mutating func pick<Element>(_ elements: [Element]) -> Element {
        elements[number(below: elements.count)]
    }
}
