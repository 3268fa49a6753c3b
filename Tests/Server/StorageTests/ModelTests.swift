import StratusRecords
import StratusStorage
import Testing

/// Two stores that get the same random requests give the same answers.
///
/// The memory store is the model of the SQLite store and the other way round: neither shares a line with
/// the other. A seed that ever failed stays in the list.
@Suite struct ModelTests {
    @Test(arguments: [1, 2, 3, 20_261_121] as [UInt64])
    func sqliteAndMemoryGiveEqualAnswers(seed: UInt64) async throws {
        try await withTemporaryFolder { folder in
            let sqlite = try SQLiteStorehouse(folder: folder, random: SeededGenerator(seed: seed))
            let memory = MemoryStorehouse(random: SeededGenerator(seed: seed))
            let address = DatabaseAddress(
                ContainerAddress(container: "c", environment: .production), .public)
            let stores = [
                try await sqlite.store(for: address), try await memory.store(for: address),
            ]
            var script = Script(seed: seed)
            var errors = 0
            for step in 0..<1_000 {
                let request = script.next()
                let first = await answer(of: stores[0], to: request)
                let second = await answer(of: stores[1], to: request)
                try #require(first == second, "step \(step) of seed \(seed): \(request)")
                if first.hasPrefix("error") { errors += 1 }
            }
            // Most requests must succeed, or the stores agree about little.
            #expect(errors < 500)
            try await sqlite.close()
        }
    }

    private func answer(of store: any RecordStore, to request: Script.Request) async -> String {
        do {
            let answer =
                if request.refuses {
                    try await store.write { writer -> String in
                        _ = try request.actions.map { try $0.apply(to: writer) }
                        throw Refused()
                    }
                } else if request.actions.allSatisfy(\.isReading) {
                    try await store.read { reader in
                        try request.actions.map { try $0.ask(reader) }.joined(separator: "\n")
                    }
                } else {
                    try await store.write { writer in
                        try request.actions.map { try $0.apply(to: writer) }
                            .joined(separator: "\n")
                    }
                }
            return answer
        } catch let error as StorageError {
            return "error \(error.code.rawValue): \(error.message)"
        } catch {
            return "error \(type(of: error))"
        }
    }
}

private struct Refused: Error {}

/// What can be asked of a store, drawn from a seed. Zones and records are few, so that they meet.
private struct Script {
    struct Request: Sendable {
        var actions: [Action]
        /// Whether the closure throws at the end.
        var refuses: Bool
    }

    enum Action: Sendable {
        case createZone(String, hasFeed: Bool)
        case deleteZone(String, ZoneRow.Deletion)
        case save([String], zone: String, deleted: Bool, device: String, parent: String?)
        case takeVersions(Int, zone: String)
        case purge(through: Int64, zone: String)
        case subscribe(user: String, identifier: String, body: [UInt8])
        case unsubscribe(user: String, identifier: String)
        case keepOutcome(OperationKey, [UInt8], expires: Int64)
        case expireOutcomes(Int64)
        case enqueue([UInt8])
        case dequeue(Int64)
        case changes(zone: String, ChangeCursor, limit: Int)
        case records([String], zone: String)
        case scan(type: String, zone: String, after: String?)
        case feed(after: Int64, limit: Int)
        case everythingElse(OperationKey)
    }

    private var random: SeededGenerator

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
    }

    mutating func next() -> Request {
        let actions = (0..<Int.random(in: 1...4, using: &random)).map { _ in action() }
        return Request(actions: actions, refuses: chance(10))
    }

    private mutating func chance(_ percent: Int) -> Bool {
        Int.random(in: 0..<100, using: &random) < percent
    }

    private mutating func number(_ upTo: Int) -> Int { Int.random(in: 0...upTo, using: &random) }

    private mutating func zone() -> String { ["A", "b", "_defaultZone"][number(2)] }

    private mutating func device() -> String { ["phone", "tablet"][number(1)] }

    private mutating func name() -> String { "r\(number(25))" }

    private mutating func bytes() -> [UInt8] { (0..<number(4)).map { UInt8($0) } }

    private mutating func names() -> [String] {
        Array(Set((0...number(6)).map { _ in name() })).sorted()
    }

    private mutating func key() -> OperationKey {
        OperationKey(user: "_u\(number(1))", device: device(), operation: "\(number(3))")
    }

    private mutating func action() -> Action {
        chance(50) ? writing() : chance(60) ? reading() : note()
    }

    private mutating func writing() -> Action {
        switch number(20) {
        case 0...2: .createZone(zone(), hasFeed: chance(50))
        case 3:
            .deleteZone(zone(), ZoneRow.Deletion(rawValue: 1 + number(2)) ?? .deleted)
        case 4: .takeVersions(number(3), zone: zone())
        case 5: .purge(through: Int64(number(200)), zone: zone())
        case _:
            .save(
                names(), zone: zone(), deleted: chance(30), device: device(),
                parent: chance(30) ? name() : nil)
        }
    }

    private mutating func reading() -> Action {
        switch number(9) {
        case 0: .records(names(), zone: zone())
        case 1: .scan(type: "T\(number(1))", zone: zone(), after: chance(50) ? name() : nil)
        case 2: .feed(after: Int64(number(300)), limit: number(4))
        case _:
            .changes(
                zone: zone(),
                ChangeCursor(
                    version: Int64(number(400)), skipTombstonesThrough: Int64(number(400)),
                    device: device()), limit: number(12))
        }
    }

    private mutating func note() -> Action {
        switch number(6) {
        case 0: .subscribe(user: "_u\(number(1))", identifier: "\(number(3))", body: bytes())
        case 1: .unsubscribe(user: "_u\(number(1))", identifier: "\(number(3))")
        case 2: .keepOutcome(key(), bytes(), expires: Int64(number(50)))
        case 3: .expireOutcomes(Int64(number(50)))
        case 4: .enqueue(bytes())
        case 5: .dequeue(Int64(number(40)))
        case _: .everythingElse(key())
        }
    }
}

extension Script.Action {
    var isReading: Bool {
        switch self {
        case .changes, .records, .scan, .feed, .everythingElse: true
        default: false
        }
    }

    /// The answer of a reading action, as text.
    func ask(_ reader: any StoreReader) throws -> String {
        func key(_ zone: String) throws -> ZoneRow.Key {
            try reader.zone(named: zone)?.key ?? ZoneRow.Key(rawValue: 999)
        }
        switch self {
        case .changes(let zone, let cursor, let limit):
            return "\(try reader.changes(in: key(zone), after: cursor, limit: limit))"
        case .records(let names, let zone):
            let rows = try reader.records(named: names, in: key(zone))
            return "\(rows.values.sorted { $0.version < $1.version })"
        case .scan(let type, let zone, let name):
            var rows: [RecordRow] = []
            try reader.scan(type: type, in: key(zone), after: name) { row in
                rows.append(row)
                return rows.count < 5
            }
            return "\(rows)"
        case .feed(let version, let limit):
            return "\(try reader.zones(changedAfter: version, limit: limit))"
        case .everythingElse(let operation):
            let children = try (0..<5).map {
                try reader.children(of: "r\($0)", in: key("A"), limit: 3)
            }
            return """
                \(try reader.incarnation) \(try reader.databaseVersion) \(try reader.zones())
                \(try reader.subscriptions(of: nil)) \(try reader.subscriptions(of: "_u0"))
                \(String(describing: try reader.outcome(of: operation))) \(children)
                \(try reader.outbox(limit: 7))
                """
        default:
            return ""
        }
    }

    /// Carries the action out, and says what came back.
    func apply(to writer: any StoreWriter) throws -> String {
        func key(_ zone: String) throws -> ZoneRow.Key {
            try writer.zone(named: zone)?.key ?? ZoneRow.Key(rawValue: 999)
        }
        switch self {
        case .createZone(let name, let hasFeed):
            return "\(try writer.createZone(named: name, hasFeed: hasFeed))"
        case .deleteZone(let name, let reason):
            try writer.deleteZone(key(name), reason: reason)
        case .save(let names, let zone, let deleted, let device, let parent):
            return "\(try save(names, key(zone), deleted, device, parent, writer))"
        case .takeVersions(let count, let zone):
            return "\(try writer.takeVersions(count, in: key(zone)))"
        case .purge(let version, let zone):
            try writer.purgeTombstones(through: version, in: key(zone))
        case .subscribe(let user, let identifier, let body):
            try writer.put(SubscriptionRow(user: user, identifier: identifier, body: body))
        case .unsubscribe(let user, let identifier):
            try writer.deleteSubscription(identifier, of: user)
        case .keepOutcome(let operation, let outcome, let expires):
            try writer.put(outcome: outcome, of: operation, expiresMilliseconds: expires)
        case .expireOutcomes(let moment): try writer.deleteOutcomes(expiredAt: moment)
        case .enqueue(let body): try writer.enqueue(body)
        case .dequeue(let identifier): try writer.dequeue(through: identifier)
        case .changes, .records, .scan, .feed, .everythingElse: return try ask(writer)
        }
        return ""
    }

    private func save(
        _ names: [String], _ zone: ZoneRow.Key, _ deleted: Bool, _ device: String,
        _ parent: String?, _ writer: any StoreWriter
    ) throws -> ClosedRange<Int64> {
        let versions = try writer.takeVersions(names.count, in: zone)
        for (name, version) in zip(names, versions) {
            try writer.put(
                RecordRow(
                    zone: zone, name: name, type: "T\(version % 2)", version: version,
                    commitVersion: versions.upperBound, changeTag: "\(version)",
                    isDeleted: deleted, creatorDevice: device, createdMilliseconds: version,
                    modifiedMilliseconds: -version, creator: "_a", modifier: "_b",
                    modifierDevice: device, parent: parent, shareRoot: nil,
                    payload: deleted ? [] : Array(name.utf8)))
        }
        return versions
    }
}

/// SplitMix64: small, and the same on every machine.
struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
