import StratusRecords
import StratusStorage
import StratusWire

/// Examines a whole data folder: the files, the rows, and what the stored bytes mean.
///
/// ```swift
/// let storehouse = try SQLiteStorehouse(folder: "/var/lib/stratus", access: .beside)
/// let diagnosis = try await Doctor(storehouse: storehouse).examine()
/// print(diagnosis.isHealthy)
/// ```
public struct Doctor: Sendable {
    /// What an examination came to.
    public struct Diagnosis: Hashable, Sendable {
        public var folder: FolderCheck
        /// Living records and tombstones that were read.
        public var records = 0

        /// Every breach of every law that was found.
        public var findings: [Finding] { folder.findings }
        public var isHealthy: Bool { findings.isEmpty }
    }

    private static let recordsPerPage = 500

    private let storehouse: SQLiteStorehouse

    public init(storehouse: SQLiteStorehouse) {
        self.storehouse = storehouse
    }

    /// Reads everything. Changes nothing; a service may be at work on the folder.
    ///
    /// - Throws: `StorageError` when the folder itself cannot be read. What is wrong with a file or a
    ///   record is a finding.
    public func examine() async throws -> Diagnosis {
        var diagnosis = Diagnosis(folder: try await storehouse.check())
        let damaged = Set(diagnosis.findings.map(\.path))
        for address in try await storehouse.databases() {
            let path = storehouse.path(of: address)
            guard !damaged.contains(path) else { continue }
            let schema = ContainerSchema(
                try await storehouse.directory.schema(of: address.containerAddress))
            let store = try await storehouse.store(for: address)
            let examined = try await store.read(.zone) { reader in
                var contents = StoredContents(path: path, schema: schema)
                try contents.examine(reader, recordsPerPage: Self.recordsPerPage)
                return contents
            }
            diagnosis.records += examined.records
            diagnosis.folder.findings += examined.findings
            diagnosis.folder.laws += StoredContents.laws
        }
        return diagnosis
    }
}

/// What the stored bytes of one database mean, read in one snapshot.
private struct StoredContents {
    static let laws = 7

    let path: String
    let schema: ContainerSchema
    private(set) var records = 0
    private(set) var findings: [Finding] = []

    init(path: String, schema: ContainerSchema) {
        self.path = path
        self.schema = schema
    }

    mutating func examine(_ reader: any StoreReader, recordsPerPage: Int) throws {
        for zone in try reader.zones() {
            var cursor = ChangeCursor(version: 0, skipTombstonesThrough: 0, device: "")
            var page: ChangePage
            repeat {
                page = try reader.changes(in: zone.key, after: cursor, limit: recordsPerPage)
                for row in page.rows { try examine(row, reader) }
                cursor.version = page.version
            } while page.moreComing
        }
        for row in try reader.subscriptions(of: nil) {
            do {
                _ = try row.subscription()
            } catch {
                report("A subscription can be read.", row.identifier)
            }
        }
        for row in try reader.outbox(limit: .max) {
            do {
                _ = try News(bytes: row.body)
            } catch {
                report("What waits to be told can be read.", "\(row.identifier)")
            }
        }
    }

    private mutating func examine(_ row: RecordRow, _ reader: any StoreReader) throws {
        records += 1
        if row.changeTag.isEmpty { report("A record has a change tag.", row.name) }
        guard !row.isDeleted else { return }
        guard schema.hasType(row.type) else {
            return report("A record's type is in its container's schema.", row.name)
        }
        let fields: [Field]
        do {
            fields = try RecordFields.encoded(row.payload).values()
        } catch {
            return report("A record's fields can be read.", row.name)
        }
        for reference in ActingReference.all(in: fields) {
            let holders = try reader.holders(
                of: reference.target, reference.action, in: row.zone, limit: .max)
            if !holders.contains(row.name) {
                report("A reference with an action is found by its target.", row.name)
            }
        }
        for field in fields {
            guard let type = field.value?.type else { continue }
            if schema.rule(for: field.name, of: row.type)?.type != type {
                report("A field has the type that its schema names.", "\(row.name).\(field.name)")
            }
        }
    }

    private mutating func report(_ law: String, _ breach: String) {
        findings.append(Finding(law: law, path: path, breach: breach))
    }
}
