import StratusRecords
import StratusStorage
import Synchronization

/// The schemas of the containers, read once and kept in memory until another process changes them.
final class SchemaBook: Sendable {
    private struct State {
        var schemas: [ContainerAddress: ContainerSchema] = [:]
        /// Counts the times that everything was forgotten; what was read before is not kept after it.
        var epoch: UInt64 = 0
    }

    private let directory: any Directory
    private let limits: Limits
    private let state = Mutex(State())

    init(directory: any Directory, limits: Limits) {
        self.directory = directory
        self.limits = limits
    }

    func schema(of address: ContainerAddress) async throws -> ContainerSchema {
        let (known, epoch) = state.withLock { ($0.schemas[address], $0.epoch) }
        if let known { return known }
        let schema = ContainerSchema(try await directory.schema(of: address))
        return state.withLock { state in
            // Answers may overtake each other; a schema's version only rises.
            if let known = state.schemas[address], known.version >= schema.version {
                return known
            }
            if state.epoch == epoch { state.schemas[address] = schema }
            return schema
        }
    }

    /// Adds what is new, durably.
    ///
    /// - Returns: The whole schema. Where two saves named a field at once, it has the first one's type;
    ///   what found no room is not in it.
    func extend(
        _ address: ContainerAddress, with rows: [SchemaFieldRow]
    ) async throws -> ContainerSchema {
        let outcome = try await directory.extendSchema(of: address, with: rows, limits: limits)
        let extended: ContainerSchema? = state.withLock { state in
            guard let known = state.schemas[address] else { return nil }
            if known.version >= outcome.version { return known }
            // Somebody else's change lies between; it has to be read.
            guard known.version == outcome.oldVersion else {
                state.schemas[address] = nil
                return nil
            }
            for row in outcome.fields { state.schemas[address]?.add(row) }
            state.schemas[address]?.version = outcome.version
            return state.schemas[address]
        }
        if let extended { return extended }
        return try await schema(of: address)
    }

    /// Forgets everything: another process, or this one past the book, changed a schema or a role.
    func forget() {
        state.withLock { state in
            state.schemas = [:]
            state.epoch += 1
        }
    }
}
