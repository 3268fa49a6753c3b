import StratusRecords
import StratusSchema
import Synchronization
import Testing

@testable import StratusQuery
@testable import StratusStorage

/// Several queries ask for indexes at once, in a database that has room for one.
@Suite struct ConcurrentIndexRequestTests {
    private static let schema = ContainerSchema(
        SchemaRows(
            fields: [SchemaFieldRow(recordType: "Hut", field: nil, type: nil)]
                + ["beds", "height"].map {
                    SchemaFieldRow(
                        recordType: "Hut", field: $0, type: .int64,
                        indexes: [.queryable, .sortable]
                    )
                }))

    private static func index(of field: String) -> Set<IndexRow.Definition> {
        schema.indexes(of: "Hut").filter { $0.field == field }
    }

    private static func indexes(_ store: any RecordStore) async throws -> Set<String> {
        let all = try await store.read { try $0.indexes() }
        return Set(all.filter { $0.phase == .readable }.map(\.definition.field).filter { $0 != "" })
    }

    /// One query asks for an index, which is dropped in favour of another query's between the check for it and the
    /// note that it exists. An outdated note would keep it from being created for as long as the service runs.
    @Test(arguments: [1, 2]) func indexDroppedDuringItsRequestIsBuiltAgain(_ access: Int)
        async throws
    {
        var limits = Limits()
        limits.indexesPerDatabase = 1
        let inner = try await emptyStore()
        let before = IndexManager(limits: limits)
        try await before.prepare(["Hut"], of: Self.schema, in: inner)
        try await inner.saveHuts(0..<30) { number, _ in
            [Field(name: "beds", value: .int64(Int64(number)))]
        }
        if access == 1 {
            // The first check of the new service finds it.
            try await before.prepare(
                ["Hut"], asking: Self.index(of: "beds"), of: Self.schema, in: inner)
        }
        let manager = IndexManager(limits: limits)
        let store = InterruptedStore(inner)
        store.interrupt(after: access) {
            try await manager.prepare(
                ["Hut"], asking: Self.index(of: "height"), of: Self.schema, in: inner)
        }
        for _ in 0..<2 {
            try await manager.prepare(
                ["Hut"], asking: Self.index(of: "beds"), of: Self.schema, in: store)
            await manager.waitUntilBuilt()
            #expect(store.wasInterrupted)
            #expect(try await Self.indexes(inner) == ["beds"])
        }
    }
}

/// A store in which a test does something after one of its transactions.
final class InterruptedStore: RecordStore {
    private struct State {
        var left = 0
        var body: (@Sendable () async throws -> Void)?
    }

    private let inner: any RecordStore
    private let state = Mutex(State())

    init(_ inner: any RecordStore) { self.inner = inner }

    var address: DatabaseAddress { inner.address }
    var wasInterrupted: Bool { state.withLock { $0.body == nil } }

    /// Runs `body` once, after this many transactions from now.
    func interrupt<Outcome: Sendable>(
        after transactions: Int, _ body: @escaping @Sendable () async throws -> Outcome
    ) {
        state.withLock { $0 = State(left: transactions) { _ = try await body() } }
    }

    private func transactionEnded() async throws {
        let body = state.withLock { state in
            state.left -= 1
            guard state.left == 0 else { return nil as (@Sendable () async throws -> Void)? }
            defer { state.body = nil }
            return state.body
        }
        try await body?()
    }

    func read<Outcome: Sendable>(
        _ length: ReadLength, _ body: @escaping @Sendable (any StoreReader) throws -> Outcome
    ) async throws -> Outcome {
        let outcome = try await inner.read(length, body)
        try await transactionEnded()
        return outcome
    }

    func writeRecords<Outcome: Sendable>(
        _ body: @escaping @Sendable (any RecordTransaction) throws -> Outcome
    ) async throws -> Outcome {
        let outcome = try await inner.writeRecords(body)
        try await transactionEnded()
        return outcome
    }
}
