import Logging
import StratusRecords
import StratusRuntime
import StratusSchema
import StratusStorage
import Synchronization

/// Creates and drops the indexes of databases as their schema asks, and builds them from the stored records
/// in bounded steps, each a transaction of its own, so that others can write in between.
///
/// The progress of an index is stored in the database. After a restart, building continues when a request
/// next names the record type.
package final class IndexManager: Sendable {
    private typealias Prepared = [String: [String: ContainerSchema.FieldRule]]

    private struct State {
        /// The field rules to which the indexes conform, by database and record type.
        var prepared = LRUCache<DatabaseAddress, Prepared>(capacity: 10_000)
        var running: [DatabaseAddress: Task<Void, Never>] = [:]
        /// Databases that got more to build while their task was running.
        var resumed: Set<DatabaseAddress> = []
    }

    /// Steps that a request takes itself, so that a small database is ready before the answer.
    private static let stepsPerRequest = 4

    private let limits: Limits
    private let world: World
    private let logger: Logger
    private let state = Mutex(State())

    package init(limits: Limits, world: World, logger: Logger) {
        self.limits = limits
        self.world = world
        self.logger = logger
    }

    /// Creates the indexes that the schema asks for and drops the others.
    ///
    /// Call it before records of the types are saved or queried. It costs nothing if the schema's rules
    /// have not changed since the last call.
    package func prepare(
        _ recordTypes: Set<String>, of schema: ContainerSchema, in store: any RecordStore
    ) async throws {
        let known = state.withLock { $0.prepared[store.address] }
        var wanted: [String: Set<IndexRow.Definition>] = [:]
        for recordType in recordTypes where known?[recordType] != schema.types[recordType] ?? [:] {
            wanted[recordType] = schema.indexes(of: recordType)
        }
        guard !wanted.isEmpty else { return }
        let found = try await store.read { [wanted] reader in
            try Self.survey(for: wanted, in: reader)
        }
        if found.hasOlderRecords {
            // In a file from before there were indexes, one pass over the records serves all types.
            for recordType in schema.types.keys where wanted[recordType] == nil {
                wanted[recordType] = schema.indexes(of: recordType)
            }
        }
        if !found.conforms {
            try await store.write { [wanted] writer in
                for (recordType, definitions) in wanted.sorted(by: { $0.key < $1.key }) {
                    try Self.reconcile(recordType, with: definitions, in: writer)
                }
            }
        }
        if !found.conforms || found.isUnfinished { try await startBuilding(in: store) }
        state.withLock { state in
            var prepared = state.prepared[store.address] ?? [:]
            for recordType in wanted.keys {
                prepared[recordType] = schema.types[recordType] ?? [:]
            }
            state.prepared[store.address] = prepared
        }
    }

    /// Waits until all building has finished.
    package func waitUntilBuilt() async {
        while let task = state.withLock({ $0.running.values.first }) {
            await task.value
        }
    }

    // MARK: Conforming to the schema

    private struct Survey: Sendable {
        /// Whether the database has exactly the indexes that are wanted.
        var conforms = true
        /// Whether an index is being built or dropped.
        var isUnfinished = false
        /// Whether there are records from before there were indexes, which no index lists.
        var hasOlderRecords = false
    }

    private static func survey(
        for wanted: [String: Set<IndexRow.Definition>], in reader: any StoreReader
    ) throws -> Survey {
        var survey = Survey()
        for (recordType, definitions) in wanted {
            let found = try reader.indexes(ofType: recordType)
            let kept = found.filter { $0.phase != .dropping }
            if Set(kept.map(\.definition)) != definitions { survey.conforms = false }
            if found.contains(where: { $0.phase != .readable }) { survey.isUnfinished = true }
        }
        survey.hasOlderRecords = try !survey.conforms && reader.hasRecordsOlderThanIndexes
        return survey
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
        // The index of names first: the others find their records by it.
        let missing = wanted.subtracting(kept).sorted {
            ($0.kind.rawValue, $0.field) < ($1.kind.rawValue, $1.field)
        }
        for definition in missing { _ = try createIndex(definition, in: writer) }
    }

    /// Creates an index. It is readable at once if there is no record of the type yet.
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

    private func startBuilding(in store: any RecordStore) async throws {
        let building = IndexBuilding(limits: limits)
        let isBusy = state.withLock { $0.running[store.address] != nil }
        if !isBusy {
            for _ in 0..<Self.stepsPerRequest {
                guard try await store.write({ try building.step(in: $0) }) else { return }
            }
        }
        state.withLock { state in
            if state.running[store.address] != nil {
                state.resumed.insert(store.address)
            } else {
                state.running[store.address] = world.startTask("index building") {
                    await self.run(store, building)
                }
            }
        }
    }

    private func run(_ store: any RecordStore, _ building: IndexBuilding) async {
        var isDone = false
        while !isDone {
            do {
                while try await store.write({ try building.step(in: $0) }) { await Task.yield() }
            } catch {
                // The progress is stored; the next request for one of the types continues from there.
                logger.error(
                    "Building an index failed.", metadata: ["type": "\(type(of: error))"])
                state.withLock { $0.prepared[store.address] = nil }
            }
            isDone = state.withLock { state in
                guard state.resumed.remove(store.address) == nil else { return false }
                state.running[store.address] = nil
                return true
            }
        }
    }
}
