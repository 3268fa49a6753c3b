import Logging
import StratusRecords
import StratusStorage
import Synchronization

/// Brings the indexes of databases in line with their schema, and builds them from the records that are
/// there: in bounded steps, each a transaction of its own, between which others write.
///
/// How far an index is stands in the database. After a restart the building goes on when somebody next
/// asks for the type.
final class IndexBook: Sendable {
    private struct State {
        /// The rules that were found or brought in line since the start, by database and record type.
        var prepared: [DatabaseAddress: [String: [String: ContainerSchema.FieldRule]]] = [:]
        var running: [DatabaseAddress: Task<Void, Never>] = [:]
        /// Databases with something to build that came while the building was under way.
        var again: Set<DatabaseAddress> = []
    }

    private static let capacity = 10_000
    /// Steps that a request takes itself, so that small databases are ready when it is answered.
    private static let stepsPerRequest = 4

    private let limits: Limits
    private let logger: Logger
    private let state = Mutex(State())

    init(limits: Limits, logger: Logger) {
        self.limits = limits
        self.logger = logger
    }

    /// Makes the indexes that the schema wants of record types and gives up those that it does not want.
    ///
    /// To be called before records of the types are saved or queried; costs nothing when all was in line
    /// the last time.
    func prepare(
        _ recordTypes: Set<String>, of schema: ContainerSchema, in store: any RecordStore
    ) async throws {
        let known = state.withLock { $0.prepared[store.address] }
        var wanted: [String: Set<IndexRow.Definition>] = [:]
        for recordType in recordTypes where known?[recordType] != schema.types[recordType] ?? [:] {
            wanted[recordType] = schema.indexes(of: recordType)
        }
        guard !wanted.isEmpty else { return }
        let found = try await store.read { [wanted] reader in
            try Self.look(for: wanted, in: reader)
        }
        if found.isOlder {
            // One pass over the records serves all types of a file from before there were indexes.
            for recordType in schema.types.keys where wanted[recordType] == nil {
                wanted[recordType] = schema.indexes(of: recordType)
            }
        }
        if !found.isInLine {
            try await store.write { [wanted] writer in
                for (recordType, definitions) in wanted.sorted(by: { $0.key < $1.key }) {
                    try Self.reconcile(recordType, with: definitions, in: writer)
                }
            }
        }
        if !found.isInLine || found.isUnfinished { try await begin(in: store) }
        state.withLock { state in
            if state.prepared.count >= Self.capacity { state.prepared.removeAll() }
            for recordType in wanted.keys {
                state.prepared[store.address, default: [:]][recordType] =
                    schema.types[recordType] ?? [:]
            }
        }
    }

    /// Returns when nothing is being built.
    func settle() async {
        while let task = state.withLock({ $0.running.values.first }) {
            await task.value
        }
    }

    // MARK: In line with the schema

    private struct Look: Sendable {
        var isInLine = true
        /// Whether something is being built or dropped.
        var isUnfinished = false
        /// Whether records are there that no index knows of.
        var isOlder = false
    }

    private static func look(
        for wanted: [String: Set<IndexRow.Definition>], in reader: any StoreReader
    ) throws -> Look {
        var look = Look()
        for (recordType, definitions) in wanted {
            let found = try reader.indexes(ofType: recordType)
            let kept = found.filter { $0.phase != .dropping }
            if Set(kept.map(\.definition)) != definitions { look.isInLine = false }
            if found.contains(where: { $0.phase != .readable }) { look.isUnfinished = true }
        }
        look.isOlder = try !look.isInLine && reader.hasRecordsOlderThanIndexes
        return look
    }

    private static func reconcile(
        _ recordType: String, with wanted: Set<IndexRow.Definition>, in writer: any StoreWriter
    ) throws {
        var kept: Set<IndexRow.Definition> = []
        for var index in try writer.indexes(ofType: recordType) where index.phase != .dropping {
            if wanted.contains(index.definition) || index.definition.kind == .name {
                kept.insert(index.definition)
            } else {
                index.phase = .dropping
                try writer.update(index)
            }
        }
        // By name first, so that it is there when the others look for records.
        let missing = wanted.subtracting(kept).sorted {
            ($0.kind.rawValue, $0.field) < ($1.kind.rawValue, $1.field)
        }
        for definition in missing { _ = try createIndex(definition, in: writer) }
    }

    /// Makes an index. It is readable at once when there is no record of the type yet.
    @discardableResult
    static func createIndex(
        _ definition: IndexRow.Definition, in writer: any StoreWriter
    ) throws -> IndexRow {
        let names = try writer.indexes(ofType: definition.recordType)
            .first { $0.definition.kind == .name && $0.phase != .dropping }
        let isComplete: Bool
        if let names {
            isComplete =
                try names.phase == .readable
                && writer.zones().allSatisfy { zone in
                    try writer.entryCount(of: names.key, in: zone.key, within: .all, limit: 1) == 0
                }
        } else {
            isComplete = try !writer.hasRecordsOlderThanIndexes
        }
        return try writer.createIndex(definition, phase: isComplete ? .readable : .building)
    }

    // MARK: Building

    private func begin(in store: any RecordStore) async throws {
        let building = IndexBuilding(limits: limits)
        let isBusy = state.withLock { $0.running[store.address] != nil }
        if !isBusy {
            for _ in 0..<Self.stepsPerRequest {
                guard try await store.write({ try building.step(in: $0) }) else { return }
            }
        }
        state.withLock { state in
            if state.running[store.address] != nil {
                state.again.insert(store.address)
            } else {
                state.running[store.address] = Task { await run(store, building) }
            }
        }
    }

    private func run(_ store: any RecordStore, _ building: IndexBuilding) async {
        var isDone = false
        while !isDone {
            do {
                while try await store.write({ try building.step(in: $0) }) { await Task.yield() }
            } catch {
                // The store keeps how far it is; whoever next asks for a type goes on from there.
                logger.error(
                    "An index could not be built.", metadata: ["type": "\(type(of: error))"])
                state.withLock { $0.prepared[store.address] = nil }
            }
            isDone = state.withLock { state in
                guard state.again.remove(store.address) == nil else { return false }
                state.running[store.address] = nil
                return true
            }
        }
    }
}

extension IndexReader {
    /// How many entries a range of keys has; counting ends at `limit`.
    func entryCount(
        of index: IndexRow.Key, in zone: ZoneRow.Key, within range: KeyRange, limit: Int
    ) throws -> Int {
        try entryCount(of: index, in: zone, between: range.bounds, limit: limit)
    }
}

extension KeyRange {
    /// The entries between which those of the range lie: no record has an empty name.
    var bounds: (IndexEntry, IndexEntry) {
        (IndexEntry(key: lower, name: ""), IndexEntry(key: upper, name: ""))
    }
}
