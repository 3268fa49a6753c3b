import StratusRecords
import StratusStorage
import StratusWire

/// What putting a schema somewhere would change there, and what of it is refused.
public struct SchemaReview: Hashable, Sendable {
    public let changes: [SchemaChange]
    /// The changes that break a law.
    public let refused: [SchemaChange]

    init(_ difference: SchemaDifference, refused: Set<SchemaChange>) {
        changes = difference.changes
        self.refused = difference.changes.filter(refused.contains)
    }

    public var isPermitted: Bool { refused.isEmpty }

    /// A line for each change; those that are refused name the law.
    public var lines: [String] {
        let refused = Set(refused)
        return changes.map { refused.contains($0) ? $0.lineWithLaw : $0.description }
    }
}

extension SchemaChange {
    /// One line, with the law that it breaks.
    var lineWithLaw: String {
        brokenLaw.map { "\(self)  (breaks the law: \($0))" } ?? description
    }

    /// The record type, and the field if it is about one, whose records a breach is about.
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
}

/// Which types and fields the stored records of a container use, found by reading them all.
///
/// What is saved while it reads may be missed; a command tells its user to hold still.
struct StoredSchemaUse {
    private static let recordsPerPage = 500

    let storehouse: any Storehouse
    let address: ContainerAddress

    /// The changes that concern a record which is there.
    func changes(among asked: Set<SchemaChange>) async throws -> Set<SchemaChange> {
        var open = asked
        for database in try await storehouse.databases()
        where database.containerAddress == address {
            if open.isEmpty { break }
            let store = try await storehouse.store(for: database)
            open = try await store.read(.zone) { [open] reader in
                try Self.unused(open, in: reader)
            }
        }
        return asked.subtracting(open)
    }

    /// The changes that concern no record of a database.
    private static func unused(
        _ asked: Set<SchemaChange>, in reader: any StoreReader
    ) throws -> Set<SchemaChange> {
        var open = asked
        let types = Set(asked.compactMap { $0.subject?.recordType })
        for zone in try reader.zones() {
            var cursor = ChangeCursor(version: 0, skipTombstonesThrough: 0, device: "")
            var page: ChangePage
            repeat {
                if open.isEmpty { return [] }
                page = try reader.changes(in: zone.key, after: cursor, limit: recordsPerPage)
                for row in page.rows where !row.isDeleted && types.contains(row.type) {
                    // What cannot be read may hold any field.
                    let fields = try? RecordFields.encoded(row.payload).values()
                    let names = fields.map { Set($0.map(\.name)) }
                    open = open.filter { change in
                        guard let (recordType, field) = change.subject, recordType == row.type,
                            let field, let names
                        else { return change.subject?.recordType != row.type }
                        return !names.contains(field)
                    }
                }
                cursor.version = page.version
            } while page.moreComing
        }
        return open
    }
}
