import Logging
import StratusRecords
import StratusRuntime
import StratusSchema
import StratusStorage
import Synchronization

/// Creates, replaces and drops the indexes of databases, and builds them from the stored records in bounded steps, each
/// a transaction of its own, so that others can write in between.
///
/// An index that the schema allows is created when a query first asks for it, since every save pays for it. When a
/// database has as many as it may have, the one that was asked for least recently is dropped; this is counted from the
/// start of the service.
///
/// The progress of an index is stored in the database. After a restart, building continues when a request
/// next names the record type.
package final class IndexManager: Sendable {
    private struct Prepared: Sendable {
        /// The field rules to which the indexes conform, by record type.
        var rules: [String: [String: ContainerSchema.FieldRule]] = [:]
        /// The existing indexes that were asked for, each with the number of the last request that asked.
        var asked: [IndexRow.Definition: UInt64] = [:]
        /// Existing compound indexes, each with the number of requests that wrote its type since it was last asked for.
        var saves: [IndexRow.Definition: Int] = [:]
        /// Indexes for which there was no room at the last change, for those who may not replace others.
        var withoutRoom: Set<IndexRow.Definition> = []
        /// The number of the last change of the indexes that was noted here.
        var change: UInt64 = 0

        /// Counts a request that writes the types or asked for compound indexes.
        mutating func count(_ recordTypes: Set<String>, _ asked: Set<IndexRow.Definition>) {
            for definition in saves.keys {
                if asked.contains(definition) {
                    saves[definition] = 0
                } else if asked.isEmpty, recordTypes.contains(definition.recordType) {
                    saves[definition, default: 0] += 1
                }
            }
        }
    }

    private struct State {
        var prepared = LRUCache<DatabaseAddress, Prepared>(capacity: 10_000)
        var lastRequest: UInt64 = 0
        var lastChange: UInt64 = 0
        var running: [DatabaseAddress: Task<Void, Never>] = [:]
        /// Databases that got more to build while their task was running.
        var resumed: Set<DatabaseAddress> = []
    }

    /// Building steps that a request takes itself, so that the indexes of a small database are ready before its answer.
    private static let stepsPerRequest = 4
    /// Building steps of a request that cannot be answered without the index.
    private static let stepsPerWait = 10
    /// How often a request reads the indexes again because others changed them in between.
    private static let looksPerRequest = 4
    /// A number that is at most this many requests old is not renewed.
    private static let requestsPerRenewal: UInt64 = 100
    /// How many indexes without room are remembered for a database.
    private static let definitionsWithoutRoom = 200

    private let limits: Limits
    private let world: World
    private let logger: Logger
    private let state = Mutex(State())

    package init(limits: Limits, world: World, logger: Logger) {
        self.limits = limits
        self.world = world
        self.logger = logger
    }

    /// Creates the indexes that are asked for, as far as the schema allows them, and drops those that it
    /// does not allow.
    ///
    /// Call it before records of the types are saved or queried. It costs nothing if the schema's rules
    /// have not changed since the last call and what is asked for was asked for before.
    ///
    /// - Parameters:
    ///   - asked: The indexes that a query would use.
    ///   - mayReplace: Whether they may take the place of others; if not, they are created only while there is room.
    /// - Returns: About how many entries the new indexes will have: the cost of asking.
    @discardableResult
    package func prepare(
        _ recordTypes: Set<String>, asking asked: Set<IndexRow.Definition> = [],
        mayReplace: Bool = true, of schema: ContainerSchema, in store: any RecordStore
    ) async throws -> Int {
        let asked = limited(asked)
        if isPrepared(recordTypes, asked, mayReplace, schema, store.address) { return 0 }
        var entries = 0
        for _ in 0..<Self.looksPerRequest {
            let look = try await look(recordTypes, asked, mayReplace, schema, store)
            entries += look.entries
            if look.isNoted { break }
        }
        return entries
    }

    /// Reads the indexes, changes them as far as necessary, and notes the result, unless others changed them in the
    /// meantime.
    private func look(
        _ recordTypes: Set<String>, _ asked: Set<IndexRow.Definition>, _ mayReplace: Bool,
        _ schema: ContainerSchema, _ store: any RecordStore
    ) async throws -> (entries: Int, isNoted: Bool) {
        var plan = IndexPlan(
            limit: limits.indexesPerDatabase, compoundLimit: limits.compoundIndexesPerDatabase,
            mayReplace: mayReplace, asked: asked, unused: unused(in: store.address))
        for recordType in recordTypes {
            plan.allowed[recordType] = schema.indexes(of: recordType)
        }
        let known = state.withLock { $0.prepared[store.address] }
        plan.lastRequests = known?.asked ?? [:]
        let survey = try await store.read { [plan] in try plan.survey($0) }
        if survey.hasOlderRecords {
            // In a file from before there were indexes, one pass over the records builds the indexes of all types.
            for recordType in schema.types.keys where plan.allowed[recordType] == nil {
                plan.allowed[recordType] = schema.indexes(of: recordType)
            }
        }
        var (present, entries) = (survey.present, 0)
        if !survey.conforms {
            (present, entries) = try await store.write { [plan] in try plan.carryOut(in: $0) }
        }
        if !survey.conforms || survey.isUnfinished { try await startBuilding(in: store) }
        let isNoted = note(
            present, for: plan, schema, at: store.address, since: known?.change ?? 0,
            isChange: !survey.conforms)
        return (entries, isNoted)
    }

    /// Notes the existing indexes for the following requests.
    ///
    /// - Parameters:
    ///   - change: The last change that was noted before the read. A later one, noted by another request, may have
    ///     removed what was found; then nothing is noted.
    ///   - isChange: Whether the read itself changed the indexes.
    /// - Returns: Whether they were noted.
    private func note(
        _ present: Set<IndexRow.Definition>, for plan: IndexPlan, _ schema: ContainerSchema,
        at address: DatabaseAddress, since change: UInt64, isChange: Bool
    ) -> Bool {
        state.withLock { state in
            var prepared = state.prepared[address] ?? Prepared()
            let isTrue = prepared.change == change
            if isChange || !isTrue {
                state.lastChange += 1
                prepared.change = state.lastChange
                prepared.withoutRoom = []
            }
            for recordType in plan.allowed.keys {
                prepared.rules[recordType] = isTrue ? schema.types[recordType] ?? [:] : nil
            }
            prepared.asked = prepared.asked.filter { isTrue && present.contains($0.key) }
            let saves = prepared.saves
            prepared.saves = [:]
            for definition in present where definition.kind == .compound {
                prepared.saves[definition] =
                    plan.asked.contains(definition) ? 0 : saves[definition] ?? 0
            }
            // Also those that are not allowed, which then need not be read again.
            for definition in plan.asked where isTrue {
                if plan.isDecided(definition, present: present) {
                    prepared.asked[definition] = state.lastRequest
                } else if prepared.withoutRoom.count < Self.definitionsWithoutRoom {
                    prepared.withoutRoom.insert(definition)
                }
            }
            state.prepared[address] = prepared
            return isTrue
        }
    }

    /// Continues building for a request that cannot be answered without the index.
    ///
    /// - Returns: About how many entries were added.
    package func buildFurther(in store: any RecordStore) async throws -> Int {
        let building = IndexBuilding(limits: limits)
        for step in 0..<Self.stepsPerWait {
            guard try await store.write({ try building.step(in: $0) }) else {
                return step * limits.recordsPerIndexStep
            }
        }
        return Self.stepsPerWait * limits.recordsPerIndexStep
    }

    /// The indexes that were asked for, up to the number that a database may have; always the same ones. Those of words
    /// last: a search of all fields may ask for any number of them, and works without, unlike a sort.
    private func limited(_ asked: Set<IndexRow.Definition>) -> Set<IndexRow.Definition> {
        guard asked.count > limits.indexesPerDatabase else { return asked }
        return Set(
            asked.sorted { left, right in
                let ranks = [left, right].map { $0.kind == .token ? 1 : 0 }
                return (ranks[0], left.field, left.kind.rawValue)
                    < (ranks[1], right.field, right.kind.rawValue)
            }.prefix(limits.indexesPerDatabase))
    }

    /// Whether all indexes exist already, or have no room; notes that they were asked for.
    private func isPrepared(
        _ recordTypes: Set<String>, _ asked: Set<IndexRow.Definition>, _ mayReplace: Bool,
        _ schema: ContainerSchema, _ address: DatabaseAddress
    ) -> Bool {
        state.withLock { state in
            state.lastRequest += 1
            guard var known = state.prepared[address] else { return false }
            if !known.saves.isEmpty {
                known.count(recordTypes, asked)
                state.prepared[address] = known
            }
            guard known.saves.allSatisfy({ $0.value <= limits.savesPerUnusedIndex }),
                recordTypes.allSatisfy({ known.rules[$0] == schema.types[$0] ?? [:] }),
                asked.allSatisfy({
                    known.asked[$0] != nil || !mayReplace && known.withoutRoom.contains($0)
                })
            else { return false }
            let oldest = asked.lazy.compactMap { known.asked[$0] }.min() ?? state.lastRequest
            if state.lastRequest - oldest > Self.requestsPerRenewal {
                for definition in asked where known.asked[definition] != nil {
                    known.asked[definition] = state.lastRequest
                }
                state.prepared[address] = known
            }
            return true
        }
    }

    /// The compound indexes that too many requests wrote since they were last asked for.
    private func unused(in address: DatabaseAddress) -> Set<IndexRow.Definition> {
        state.withLock { state in
            let saves = state.prepared[address]?.saves ?? [:]
            return Set(saves.filter { $0.value > limits.savesPerUnusedIndex }.keys)
        }
    }

    /// Waits until all building has finished.
    package func waitUntilBuilt() async {
        while let task = state.withLock({ $0.running.values.first }) {
            await task.value
        }
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
                    "An index could not be built; it is continued at the next request that needs it.",
                    metadata: ["database": "\(store.address)", "type": "\(type(of: error))"])
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
