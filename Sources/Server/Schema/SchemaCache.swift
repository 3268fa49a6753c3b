import StratusRecords
import StratusRuntime
import StratusStorage
import Synchronization

/// The schemas of the containers, read once and kept in memory until another process changes them.
package final class SchemaCache: Sendable {
    private struct State {
        var schemas = LRUCache<ContainerAddress, ContainerSchema>(capacity: 10_000)
        /// Counts the calls of ``SchemaCache/forget()``; what was read before one must not be kept after it.
        var epoch: UInt64 = 0
    }

    private let directory: any Directory
    private let limits: Limits
    private let state = Mutex(State())

    package init(directory: any Directory, limits: Limits) {
        self.directory = directory
        self.limits = limits
    }

    package func schema(of address: ContainerAddress) async throws -> ContainerSchema {
        let (known, epoch) = state.withLock { ($0.schemas[address], $0.epoch) }
        if let known { return known }
        let schema = ContainerSchema(try await directory.schema(of: address))
        return state.withLock { state in
            // A slower read may end after a newer one; a schema's version never decreases.
            if let known = state.schemas[address], known.version >= schema.version {
                return known
            }
            if state.epoch == epoch { state.schemas[address] = schema }
            return schema
        }
    }

    /// Stores new types and fields.
    ///
    /// - Returns: The whole schema. If two saves name a field at the same time, it has the type of the first save; what
    ///   exceeded a limit is missing.
    package func extend(
        _ address: ContainerAddress, with rows: [SchemaFieldRow]
    ) async throws -> ContainerSchema {
        let outcome = try await directory.extendSchema(of: address, with: rows, limits: limits)
        let extended: ContainerSchema? = state.withLock { state in
            guard var known = state.schemas[address] else { return nil }
            if known.version >= outcome.version { return known }
            // The schema was changed elsewhere in between; it must be read again.
            guard known.version == outcome.oldVersion else {
                state.schemas[address] = nil
                return nil
            }
            for row in outcome.fields { known.add(row) }
            known.version = outcome.version
            state.schemas[address] = known
            return known
        }
        if let extended { return extended }
        return try await schema(of: address)
    }

    /// Forgets all schemas, because one was changed without this cache: by another process or a deployment.
    package func forget() {
        state.withLock { state in
            state.schemas.removeAll()
            state.epoch += 1
        }
    }
}
