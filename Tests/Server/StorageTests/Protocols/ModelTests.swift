import StratusRecords
import StratusStorage
import TestSeeds
import Testing

/// The engine and a plain model (``StoreModel``) get the same random requests and give the same answers.
@Suite struct ModelTests {
    static let seeds = Seeds.forTest("ModelTests", count: 2)

    private static let address = DatabaseAddress(
        ContainerAddress(container: "c", environment: .production), .public)

    @Test(arguments: seeds)
    func engineInMemoryAnswersLikeTheModel(seed: UInt64) async throws {
        let engine = SQLiteStorageEngine.inMemory(world: .seeded(seed))
        let difference = try await compare(engine, seed: seed, steps: 2_000)
        #expect(difference == nil, "seed \(seed)")
        try await engine.close()
    }

    @Test(arguments: seeds)
    func engineInAFolderAnswersLikeTheModel(seed: UInt64) async throws {
        try await withTemporaryFolder { folder in
            let engine = try SQLiteStorageEngine(
                folder: folder, world: .seeded(seed))
            let difference = try await compare(engine, seed: seed, steps: 500)
            #expect(difference == nil, "seed \(seed)")
            try await engine.close()
        }
    }

    /// A model with one defect is detected, so every rule is compared.
    @Test(arguments: StoreModel.Defect.allCases)
    func comparisonFindsEveryModelDefect(_ defect: StoreModel.Defect) async throws {
        var isFound = false
        for seed in 1...8 as ClosedRange<UInt64> where !isFound {
            let engine = SQLiteStorageEngine.inMemory(world: .seeded(seed))
            isFound = try await compare(engine, seed: seed, steps: 4_000, defect: defect) != nil
            try await engine.close()
        }
        #expect(isFound)
    }

    /// Sends the requests of a seed to an engine's store and to the model.
    ///
    /// - Returns: The first difference; nil when there is none.
    private func compare(
        _ engine: SQLiteStorageEngine, seed: UInt64, steps: Int, defect: StoreModel.Defect? = nil
    ) async throws -> String? {
        let store = try await engine.store(for: Self.address)
        var model = StoreModel(
            epoch: try await store.read { try $0.epoch }, defect: defect)
        var script = StoreScript(seed: seed)
        var failures = 0
        for step in 0..<steps {
            let request = script.next()
            let stored = await answer(of: store, to: request)
            let modelled = answer(of: &model, to: request)
            guard stored == modelled else {
                return "step \(step): \(request)\nstore: \(stored)\nmodel: \(modelled)"
            }
            if stored.hasPrefix("error") { failures += 1 }
        }
        // Most requests must succeed, otherwise little is compared.
        #expect(failures < steps / 2)
        return nil
    }

    private func answer(
        of store: any RecordStore, to request: StoreScript.Request
    ) async -> String {
        do {
            guard request.actions.allSatisfy(\.isReading) else {
                return try await store.writeRecords { try request.run(on: $0) }
            }
            return try await store.read { try request.run(on: $0) }
        } catch {
            return request.text(of: error)
        }
    }

    private func answer(
        of model: inout StoreModel, to request: StoreScript.Request
    ) -> String {
        do {
            return try model.write { try request.run(on: $0) }
        } catch {
            return request.text(of: error)
        }
    }
}

extension StoreScript.Request {
    /// The error that the closure of a request to be undone throws.
    private struct Undone: Error {
        var answer: String
    }

    fileprivate func run(on writer: any RecordTransaction) throws -> String {
        try end(actions.map { try $0.apply(to: writer) })
    }

    fileprivate func run(on reader: any StoreReader) throws -> String {
        try end(actions.map { try $0.read(reader) ?? "" })
    }

    private func end(_ answers: [String]) throws -> String {
        let answer = answers.joined(separator: "\n")
        if isUndone { throw Undone(answer: answer) }
        return answer
    }

    fileprivate func text(of error: any Error) -> String {
        switch error {
        case let error as Undone: "undone \(error.answer)"
        case let error as StorageError: "error \(error.code.rawValue)"
        default: "error \(error)"
        }
    }
}
