import StratusRecords
import StratusStorage
import StratusTesting
import StratusWire
import TestSeeds
import Testing

@testable import StratusService

/// Random batches of saves and deletions with references of all kinds and parents, against a model of
/// the rules in memory.
@Suite struct ReferencePropertyTests {
    @Test(arguments: Seeds.forTest("ReferencePropertyTests", count: 12))
    func randomBatchesFollowReferenceRules(_ seed: UInt64) async throws {
        try await run(seed, .memory, steps: 150)
    }

    @Test(arguments: Seeds.forTest("ReferencePropertyTests on disk", count: 2))
    func randomBatchesFollowReferenceRulesOnDisk(_ seed: UInt64) async throws {
        try await run(seed, .sqlite, steps: 60)
    }

    /// A cascade is deleted in steps; after them the result is the same as for a deletion in one transaction.
    @Test(arguments: Seeds.forTest("ReferencePropertyTests in steps", count: 12))
    func deletionsInStepsEqualDeletionsInOneTransaction(_ seed: UInt64) async throws {
        var limits = Limits()
        limits.recordsPerCascade = 1
        limits.recordsPerStep = 2
        try await run(seed, .memory, steps: 150, limits: limits)
    }

    private func run(
        _ seed: UInt64, _ backend: Backend, steps: Int, limits: Limits = Limits()
    ) async throws {
        var numbers = SeededNumbers(seed: seed)
        let storage = try backend.storage()
        let world = World(storage, limits: limits, startsLongChanges: false)
        let alice = try await world.person("alice")
        // The default zone is never atomic; it has no feed to follow.
        let zoneName = seed % 3 == 0 ? "_defaultZone" : "Trips"
        if zoneName == "Trips" { try await alice.makeZone(zoneName) }
        let store = try await storage.store(
            for: DatabaseAddress(world.address, .private(owner: alice.name)))
        var model = ReferenceModel()
        var follower: Set<String> = []
        var token: String?
        for step in 0..<steps {
            let comment: Comment = "seed \(seed), step \(step)"
            let batch = ReferenceModel.Batch(&numbers)
            let results = try await send(batch, alice, zoneName)
            let before = model
            while try await world.service.components.longChanges.step(store) {}
            if batch.changes.count == 1, let change = batch.changes.first {
                #expect((results[0].failed == nil) == before.allows(change), comment)
            }
            let writes = model.apply(
                zip(batch.changes, results).filter { $1.failed == nil }.map(\.0))
            let state = try await store.state(of: zoneName)
            #expect(state.records == model.records, comment)
            #expect(state.holders == model.holders, comment)
            let version = try await store.version(of: zoneName)
            #expect(version == before.version + Int64(writes), comment)
            model.version = version
            #expect(model.violations.isEmpty, comment)
            guard zoneName == "Trips" else { continue }
            var moreComing = true
            while moreComing {
                let page = try await alice.at("tablet").page(zoneName, since: token, limit: 3)
                for result in page.records {
                    guard let name = result.name else { continue }
                    if result.record == nil { follower.remove(name) } else { follower.insert(name) }
                }
                token = page.syncToken
                moreComing = page.moreComing
            }
            #expect(follower == Set(model.records.keys), comment)
        }
    }

    private func send(
        _ batch: ReferenceModel.Batch, _ person: Person, _ zoneName: String
    ) async throws -> [RecordResult] {
        do {
            return try await person.modify(
                batch.changes.map(\.operation), in: zoneName, isAtomic: batch.isAtomic)
        } catch let failure as RequestFailure {
            let records = try #require(failure.records)
            #expect(records.allSatisfy { $0.failed != nil })
            return records
        }
    }
}

/// The rules of references in a few lines: which saves and deletions are allowed, and what a cascade deletes.
private struct ReferenceModel {
    struct Record: Equatable {
        var owners: Set<String> = []
        var guides: Set<String> = []
        var parent: String?
    }

    struct Change {
        var name: String
        /// nil for a deletion.
        var record: Record?

        var operation: RecordsModify.Operation {
            guard let record else { return hut(.forceDelete, name) }
            var fields = [ownersField]
            fields.append(
                Field(
                    name: "guides",
                    value: .referenceList(
                        record.guides.sorted().map { Reference(recordName: $0, action: .validate) })
                ))
            return hut(
                .forceReplace, name, fields, parent: record.parent.map { .some($0) } ?? .none)
        }

        private var ownersField: Field {
            let references = (record?.owners ?? []).sorted().map {
                Reference(recordName: $0, action: .deleteSelf)
            }
            return Field(
                name: "owners",
                value: .referenceList(references + [Reference(recordName: "nobody")]))
        }
    }

    struct Batch {
        var changes: [Change]
        var isAtomic: Bool

        init(_ numbers: inout SeededNumbers) {
            func names(upTo count: Int, _ numbers: inout SeededNumbers) -> Set<String> {
                Set((0..<Int.random(in: 0...count, using: &numbers)).map { _ in name(&numbers) })
            }
            func name(_ numbers: inout SeededNumbers) -> String {
                "r\(Int.random(in: 0..<9, using: &numbers))"
            }
            let count = Bool.random(using: &numbers) ? 1 : Int.random(in: 2...7, using: &numbers)
            let subjects = Set((0..<count).map { _ in name(&numbers) }).sorted()
            changes = subjects.shuffled(using: &numbers).map { subject in
                guard Int.random(in: 0..<3, using: &numbers) > 0 else {
                    return Change(name: subject, record: nil)
                }
                var record = Record(owners: names(upTo: 2, &numbers))
                if Int.random(in: 0..<3, using: &numbers) == 0 {
                    record.guides = names(upTo: 1, &numbers)
                }
                let parent = name(&numbers)
                if Int.random(in: 0..<4, using: &numbers) == 0, parent != subject {
                    record.parent = parent
                }
                return Change(name: subject, record: record)
            }
            isAtomic = Bool.random(using: &numbers)
        }
    }

    var records: [String: Record] = [:]
    var version: Int64 = 0

    /// The references with an action that the store should have.
    var holders: Set<ReferenceRow> {
        var rows: Set<ReferenceRow> = []
        for (name, record) in records {
            for target in record.owners {
                rows.insert(.init(zone: .none, target: target, action: .deleteSelf, holder: name))
            }
            for target in record.guides {
                rows.insert(.init(zone: .none, target: target, action: .validate, holder: name))
            }
        }
        return rows
    }

    /// Applies the accepted changes.
    ///
    /// - Returns: how many rows they write.
    mutating func apply(_ changes: [Change]) -> Int {
        var writes = 0
        for change in changes {
            guard let record = change.record else { continue }
            records[change.name] = record
            writes += 1
        }
        var gone = changes.filter { $0.record == nil && records[$0.name] != nil }.map(\.name)
        for name in gone { records[name] = nil }
        while let name = gone.popLast() {
            writes += 1
            for (holder, record) in records where record.owners.contains(name) {
                records[holder] = nil
                gone.append(holder)
            }
        }
        return writes
    }

    /// Whether a change on its own is accepted.
    func allows(_ change: Change) -> Bool {
        var after = self
        _ = after.apply([change])
        guard let record = change.record else { return after.violations.isEmpty }
        let newOwners = record.owners.subtracting(records[change.name]?.owners ?? [])
        return record.guides.union(record.parent.map { [$0] } ?? []).union(newOwners)
            .allSatisfy { $0 == change.name || records[$0] != nil }
    }

    var violations: [String] {
        records.flatMap { name, record -> [String] in
            let needed = record.guides.union(record.parent.map { [$0] } ?? [])
            return needed.filter { records[$0] == nil }.map { "\(name) needs \($0)" }
                + record.owners.filter { records[$0] == nil }.map { "\(name) lacks \($0)" }
        }
    }
}

extension ZoneRow.Key {
    fileprivate static let none = ZoneRow.Key(rawValue: 0)
}

extension RecordStore {
    fileprivate func version(of zoneName: String) async throws -> Int64 {
        try await read { try #require(try $0.zone(named: zoneName)).version }
    }

    /// The records of the zone as they are stored, and the references that the store finds.
    fileprivate func state(
        of zoneName: String
    ) async throws -> (records: [String: ReferenceModel.Record], holders: Set<ReferenceRow>) {
        try await read { reader in
            let zone = try #require(try reader.zone(named: zoneName)).key
            let names = (0..<9).map { "r\($0)" }
            var records: [String: ReferenceModel.Record] = [:]
            for (name, row) in try reader.records(named: names, in: zone) where !row.isDeleted {
                var record = ReferenceModel.Record(parent: row.parent)
                for field in try RecordFields.encoded(row.payload).values() {
                    for reference in field.value?.references ?? [] {
                        switch reference.action {
                        case .deleteSelf: record.owners.insert(reference.recordName)
                        case .validate: record.guides.insert(reference.recordName)
                        case .none: break
                        }
                    }
                }
                records[name] = record
            }
            var holders: Set<ReferenceRow> = []
            for name in names {
                for action in ReferenceRow.Action.allCases {
                    for holder in try reader.holders(of: name, action, in: zone, limit: 99) {
                        holders.insert(
                            ReferenceRow(zone: .none, target: name, action: action, holder: holder))
                    }
                }
            }
            return (records, holders)
        }
    }
}
