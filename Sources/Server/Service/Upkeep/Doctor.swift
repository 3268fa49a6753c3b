import StratusQuery
import StratusRecords
import StratusSchema
import StratusStorage
import StratusWire

/// Examines a whole data folder: the files, the rows, and whether the stored bytes are valid.
///
/// ```swift
/// let storage = try SQLiteStorageEngine(folder: "/var/lib/stratus", access: .beside)
/// let diagnosis = try await Doctor(storage: storage).examine()
/// print(diagnosis.isHealthy)
/// ```
public struct Doctor: Sendable {
    /// The result of an examination.
    public struct Diagnosis: Hashable, Sendable {
        /// The check of the files and rows. The findings about their contents are added to it.
        public var folder: FolderCheck
        /// Living records and tombstones that were read.
        public var records = 0

        /// Every violation of every invariant that was found.
        public var findings: [Finding] { folder.findings }
        /// Whether nothing was found that violates an invariant.
        public var isHealthy: Bool { findings.isEmpty }
    }

    let storage: SQLiteStorageEngine

    /// Makes a doctor for the data of a storage engine.
    public init(storage: SQLiteStorageEngine) {
        self.storage = storage
    }

    /// Reads everything and changes nothing; a service may be running on the folder.
    ///
    /// - Throws: `StorageError` when the folder itself cannot be read. An error of a single file or record is a
    ///   finding.
    public func examine() async throws -> Diagnosis {
        var diagnosis = Diagnosis(folder: try await storage.check())
        let damaged = Set(diagnosis.findings.map(\.path))
        for address in try await storage.databases() {
            let path = storage.path(of: address)
            guard !damaged.contains(path) else { continue }
            let (records, findings) = try await contents(of: address)
            diagnosis.records += records
            diagnosis.folder.findings += findings
            diagnosis.folder.invariants += StoredContents.invariants
        }
        return diagnosis
    }
}

extension Doctor {
    /// Examines the contents of one database whose file is intact.
    package func contents(
        of address: DatabaseAddress
    ) async throws -> (records: Int, findings: [Finding]) {
        let schema = ContainerSchema(
            try await storage.directory.schema(of: address.containerAddress))
        let path = storage.path(of: address)
        let store = try await storage.store(for: address)
        let examined = try await store.read(.zone) { reader in
            var contents = StoredContents(path: path, schema: schema)
            try contents.examine(reader)
            return contents
        }
        let damaged = try await damagedBlobs(of: examined.assets, at: address)
        return (examined.records, examined.findings + damaged)
    }

    private func damagedBlobs(
        of assets: Set<HeldBlob>, at address: DatabaseAddress
    ) async throws -> [Finding] {
        let blobs = try await storage.blobs(for: address)
        var findings: [Finding] = []
        for asset in assets {
            guard let invariant = try await violatedInvariant(of: asset, in: blobs) else {
                continue
            }
            findings.append(
                Finding(
                    invariant: invariant, path: storage.path(of: address),
                    violation: StoredAssets.text(of: asset.blob)))
        }
        return findings
    }

    private func violatedInvariant(
        of asset: HeldBlob, in blobs: any BlobStore
    ) async throws -> String? {
        do {
            guard let file = try await blobs.open(asset.blob) else {
                return "An asset that a record holds has its file."
            }
            let sizeBytes = asset.sizeBytes ?? file.sizeBytes
            return file.sizeBytes == sizeBytes ? nil : "An asset's file has the size of the asset."
        } catch let error as StorageError where error.code == .other {
            // The finding itself says that the file cannot be read.
            return "An asset's file can be read."
        }
    }
}

/// A blob of an asset that a record holds.
private struct HeldBlob: Hashable {
    var blob: BlobName
    /// The size in the asset's row; nil if the database has another row or none.
    var sizeBytes: Int64?
}

/// The contents of one database, read in one snapshot.
private struct StoredContents {
    static let invariants = 11

    let path: String
    let schema: ContainerSchema
    private(set) var records = 0
    /// The blobs of the assets that records hold.
    private(set) var assets: Set<HeldBlob> = []
    private(set) var findings: [Finding] = []

    init(path: String, schema: ContainerSchema) {
        self.path = path
        self.schema = schema
    }

    mutating func examine(_ reader: any StoreReader) throws {
        var indexes = try IndexExamination(reader)
        for zone in try reader.zones() {
            try reader.recordPages(in: zone.key) { rows in
                for row in rows {
                    try examine(row, reader, &indexes)
                    try examineAssets(of: row, reader)
                }
                return true
            }
            for index in try indexes.indexesWithMore(in: zone.key, reader) {
                report("An index has no entries beside those of records.", index, .rebuild)
            }
        }
        for row in try reader.subscriptions(of: nil) {
            do {
                _ = try row.subscription()
            } catch {
                // The finding itself says that the subscription cannot be read.
                report("A subscription can be read.", row.identifier)
            }
        }
        for row in try reader.outbox(limit: .max) {
            do {
                if ShareEvent(bytes: row.body) == nil { _ = try OutboxEvent(bytes: row.body) }
            } catch {
                // The finding itself says that the event cannot be read.
                report("An event of the outbox can be read.", "\(row.identifier)")
            }
        }
    }

    private mutating func examine(
        _ row: RecordRow, _ reader: any StoreReader, _ indexes: inout IndexExamination
    ) throws {
        records += 1
        if row.changeTag.isEmpty { report("A record has a change tag.", row.name) }
        guard !row.isDeleted else { return }
        do {
            let isShare = try RecordSharing(row).share != nil
            if isShare != (row.type == ShareDictionary.recordType) {
                report("Shares, and no other records, have the data of a share.", row.name)
            }
        } catch {
            // The finding itself says that the sharing data cannot be read.
            report("The sharing data of a record can be read.", row.name)
        }
        // The service creates these two types itself; a user's record has its type before any field of it.
        let isBuiltIn = [ShareDictionary.recordType, UsersRecord.type].contains(row.type)
        guard schema.hasType(row.type) || isBuiltIn else {
            return report("A record's type is in its container's schema.", row.name)
        }
        let fields: [Field]
        do {
            fields = try RecordFields.encoded(row.payload).values()
        } catch {
            // The finding itself says that the fields cannot be read.
            return report("A record's fields can be read.", row.name)
        }
        if try !indexes.hasEntries(of: row, in: reader) {
            report("An index has the entries of each record.", row.name, .rebuild)
        }
        for reference in ActingReference.all(in: fields) {
            let holders = try reader.holders(
                of: reference.target, reference.action, in: row.zone, limit: .max)
            if !holders.contains(row.name) {
                report("A reference with an action is found by its target.", row.name, .rebuild)
            }
        }
        for field in fields {
            guard let type = field.value?.type else { continue }
            if schema.rule(for: field.name, of: row.type)?.type != type {
                report("A field has the type that its schema names.", "\(row.name).\(field.name)")
            }
        }
    }

    private mutating func examineAssets(of row: RecordRow, _ reader: any StoreReader) throws {
        for blob in StoredAssets.blobs(in: row.payload) {
            let stored = try reader.asset(blob.sha256)
            let isStored = stored?.blob == blob
            if !isStored { report("A record's assets are in its database.", row.name) }
            assets.insert(HeldBlob(blob: blob, sizeBytes: isStored ? stored?.sizeBytes : nil))
        }
    }

    private mutating func report(
        _ invariant: String, _ violation: String,
        _ recoveryAction: Finding.RecoveryAction = .saveAgain
    ) {
        findings.append(
            Finding(
                invariant: invariant, path: path, violation: violation,
                recoveryAction: recoveryAction))
    }
}
