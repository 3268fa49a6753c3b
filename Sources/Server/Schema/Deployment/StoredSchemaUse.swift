import StratusRecords
import StratusStorage

/// Finds the types and fields that the stored records of a container use, by reading all of them.
///
/// It may miss what is saved while it reads.
struct StoredSchemaUse {
    let storage: any StorageEngine
    let address: ContainerAddress
    /// The names of a record's fields.
    let fieldNames: @Sendable (RecordRow) throws -> Set<String>

    /// The changes that remove or change something that a stored record uses.
    func changesInUse(among changes: Set<SchemaChange>) async throws -> Set<SchemaChange> {
        var unused = changes
        for database in try await storage.databases()
        where database.containerAddress == address {
            if unused.isEmpty { break }
            let store = try await storage.store(for: database)
            unused = try await store.read(.zone) { [unused] reader in
                try self.unused(among: unused, in: reader)
            }
        }
        return changes.subtracting(unused)
    }

    /// The changes that concern no record of a database.
    private func unused(
        among changes: Set<SchemaChange>, in reader: any StoreReader
    ) throws -> Set<SchemaChange> {
        var unused = changes
        let types = Set(changes.compactMap { $0.subject?.recordType })
        for zone in try reader.zones() {
            try reader.recordPages(in: zone.key) { rows in
                for row in rows where !row.isDeleted && types.contains(row.type) {
                    // A record that cannot be read counts as using every field, so that no change that could harm it
                    // passes.
                    let names = try? fieldNames(row)
                    unused = unused.filter { !$0.concerns(row, fieldNames: names) }
                }
                return !unused.isEmpty
            }
        }
        return unused
    }
}

extension SchemaChange {
    /// The record type, and the field if it is about one, that the change removes or changes; nil for
    /// changes that break no invariant.
    fileprivate var subject: (recordType: String, field: String?)? {
        switch self {
        case .recordTypeRemoved(let name): (name, nil)
        case .fieldRemoved(let field): (field.recordType, field.field)
        case .typeChanged(let field, _, _): (field.recordType, field.field)
        case .encryptionChanged(let field, _): (field.recordType, field.field)
        case .roleAdded, .roleRemoved, .recordTypeAdded, .fieldAdded, .marksChanged,
            .grantsChanged:
            nil
        }
    }

    /// Whether a record uses what the change removes or changes.
    ///
    /// - Parameter fieldNames: nil when the record cannot be read.
    fileprivate func concerns(_ row: RecordRow, fieldNames: Set<String>?) -> Bool {
        guard let (recordType, field) = subject, recordType == row.type else { return false }
        guard let field, let fieldNames else { return true }
        return fieldNames.contains(field)
    }
}
