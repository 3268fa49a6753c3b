import StratusRecords
import StratusStorage
import Synchronization

/// The schemas of the containers, read once and kept in memory.
final class SchemaBook: Sendable {
    private let directory: any Directory
    private let schemas = Mutex<[ContainerAddress: ContainerSchema]>([:])

    init(directory: any Directory) {
        self.directory = directory
    }

    func schema(of address: ContainerAddress) async throws -> ContainerSchema {
        if let known = schemas.withLock({ $0[address] }) { return known }
        let schema = ContainerSchema(try await directory.schema(of: address))
        return schemas.withLock { keep(schema, of: address, in: &$0) }
    }

    /// Adds what is new, durably.
    ///
    /// - Returns: The whole schema; where two saves named a field at once, the first one's type.
    func extend(
        _ address: ContainerAddress, with rows: [SchemaFieldRow]
    ) async throws -> ContainerSchema {
        let all = try await directory.extendSchema(of: address, with: rows)
        return schemas.withLock { keep(ContainerSchema(all), of: address, in: &$0) }
    }

    /// Keeps the larger of two readings: a schema only grows, and answers may overtake each other.
    private func keep(
        _ schema: ContainerSchema, of address: ContainerAddress,
        in schemas: inout [ContainerAddress: ContainerSchema]
    ) -> ContainerSchema {
        func size(_ schema: ContainerSchema) -> Int {
            schema.types.values.reduce(schema.types.count) { $0 + $1.count }
        }
        if let known = schemas[address], size(known) > size(schema) { return known }
        schemas[address] = schema
        return schema
    }
}
