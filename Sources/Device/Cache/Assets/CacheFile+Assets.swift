import Crypto
import Foundation
import GRDB
import StratusClient
import StratusRecords

/// The files of assets on this device, and their uses.
extension CacheFile {
    /// A file on this device, identified by one of the checksums by which fields refer to it.
    struct KeptFile: Sendable {
        var key: String
        var file: String
        var sizeBytes: Int64
    }

    func add(_ asset: KeptFile, _ database: Database) throws {
        // The key may have another file with the same bytes, such as a download from before the app saved them here.
        // Without a row that file would stay until the thorough check at the next opening of the cache.
        try database.cachedStatement(
            sql: """
                INSERT OR IGNORE INTO asset (key, file, sizeBytes)
                SELECT 'former:' || file, file, sizeBytes FROM asset WHERE key = ? AND file <> ?
                """
        ).execute(arguments: [asset.key, asset.file])
        try database.cachedStatement(
            sql: """
                INSERT INTO asset (key, file, sizeBytes) VALUES (?, ?, ?)
                ON CONFLICT (key) DO UPDATE SET file = excluded.file,
                    sizeBytes = excluded.sizeBytes
                """
        ).execute(arguments: [asset.key, asset.file, asset.sizeBytes])
    }

    func keptFile(_ key: String, _ database: Database) throws -> KeptFile? {
        let statement = try database.cachedStatement(
            sql: "SELECT key, file, sizeBytes FROM asset WHERE key = ?")
        return try Row.fetchOne(statement, arguments: [key]).map { try KeptFile($0) }
    }

    /// Where the file of an asset is; nil while it is not here.
    func locate(_ key: String) -> KeptAsset.File? {
        guard !assets.isInMemory else { return nil }
        do {
            // Reentrant, because an app may read `fileURL` within a read or write of its own.
            let found = try withPool { pool in
                try pool.unsafeReentrantRead { try keptFile(key, $0) }
            }
            guard let kept = found, let lease = assets.lease(kept.file) else { return nil }
            return KeptAsset.File(url: assets.url(kept.file), lease: lease)
        } catch {
            // The asset's URL is nil, as for a file that is not here; `asset(_:of:in:)` throws the
            // error. A closed cache has no files.
            return nil
        }
    }

    /// The copy in this cache of a field's asset, whether or not its file is here.
    func copy(of value: AssetReceipt) -> KeptAsset {
        KeptAsset(value: value) { [weak self] in
            value.fileChecksum.flatMap { self?.locate($0) }
        }
    }

    /// Links the assets of a record with their files in this cache.
    func withFiles(_ record: CKRecord) -> CKRecord {
        for asset in record.assetFields.flatMap(\.assets) {
            if let value = asset.knownValue { asset.keep(copy(of: value)) }
        }
        return record
    }

    /// The bytes of all files that are here.
    func assetBytes() throws -> Int64 {
        try read { try assetBytes($0) }
    }

    func assetBytes(_ database: Database) throws -> Int64 {
        try Int64.fetchOne(
            database.cachedStatement(
                sql:
                    "SELECT CAST(total(bytes) AS INTEGER) FROM (SELECT max(sizeBytes) AS bytes FROM asset GROUP BY file)"
            ))
            ?? 0
    }

    // MARK: Removing

    /// Removes unused files, and files without a row.
    ///
    /// - Parameter isThorough: checks each file of the folder, which is needed after a process was
    ///   killed.
    /// - Returns: false while a process creates a file: then it must be done later.
    func removeUnusedAssets(isThorough: Bool) throws -> Bool {
        guard try isThorough || !unusedAssets().isEmpty else { return true }
        return try assets.removing {
            let gone: [String] = try notingDamage {
                try withPool { pool in
                    try pool.write { database in
                        let rows = try unusedAssets(database)
                        return try remove(rows.map(\.key), files: rows.map(\.file), database)
                    }
                }
            }
            for file in gone { assets.remove(file) }
            guard isThorough else { return }
            let named = try read { database in
                let files = try database.cachedStatement(sql: "SELECT file FROM asset")
                // The part of a file that arrived in another way, such as by an upload of the same bytes, is not
                // needed.
                let keys = try database.cachedStatement(
                    sql: """
                        SELECT DISTINCT key FROM assetUse
                        WHERE NOT EXISTS (SELECT 1 FROM asset WHERE asset.key = assetUse.key)
                        """)
                return Set(try String.fetchAll(files)).union(
                    try String.fetchAll(keys)
                        .map { Self.downloadName($0) + AssetFiles.partSuffix })
            }
            for name in try assets.names() where !named.contains(name) { assets.remove(name) }
        }
    }

    private func unusedAssets() throws -> [KeptFile] { try read { try unusedAssets($0) } }

    /// The unused files, except those that this process has leased.
    private func unusedAssets(_ database: Database) throws -> [KeptFile] {
        try Row.fetchAll(
            database.cachedStatement(
                sql: """
                    SELECT key, file, sizeBytes FROM asset
                    WHERE NOT EXISTS (SELECT 1 FROM assetUse WHERE assetUse.key = asset.key)
                    """)
        ).map { try KeptFile($0) }
            .filter { !assets.isKept($0.file) }
    }

    /// Removes the rows of files.
    ///
    /// - Returns: the files that no longer have a row.
    private func remove(
        _ keys: [String], files: [String], _ database: Database
    ) throws -> [String] {
        let statement = try database.cachedStatement(sql: "DELETE FROM asset WHERE key = ?")
        for key in keys { try statement.execute(arguments: [key]) }
        let isNamed = try database.cachedStatement(
            sql: "SELECT EXISTS (SELECT 1 FROM asset WHERE file = ?)")
        return try Set(files).filter {
            try Bool.fetchOne(isNamed, arguments: [$0]) == false
        }.sorted()
    }

    /// What an eviction left.
    enum Eviction: Equatable {
        /// Everything, because a process creates a file: it must be done later.
        case isBusy
        /// The limit's bytes at most, or nothing that may be evicted later without another change.
        case done
        /// More than the limit, in files whose last use was too recent: the first one's, in milliseconds since 1970.
        case spared(usedMilliseconds: Int64)
    }

    /// Evicts files until this many bytes are left, the least recently used first; never one that
    /// is not at the service, that a policy keeps, or that is in use.
    ///
    /// - Parameters:
    ///   - limitBytes: how many bytes may stay.
    ///   - spared: whether the file of a field stays by policy.
    ///   - unusedSince: files that were used later stay, because another process may use their
    ///     paths.
    func evictAssets(
        downTo limitBytes: Int64, unusedSince: Int64,
        spared: (_ recordType: String, _ field: String, _ sizeBytes: Int64) -> Bool
    ) throws -> Eviction {
        guard try assetBytes() > limitBytes else { return .done }
        var eviction = Eviction.done
        let isFree = try assets.removing {
            var left = try assetBytes()
            var chosen: [KeptFile] = []
            let candidates = try evictable(spared: spared).compactMap { kept in
                assets.lastUse(of: kept[0].file).map { (time: $0, kept: kept) }
            }
            let ordered = candidates.sorted(by: { $0.time < $1.time })
            for (time, kept) in ordered
            where left > limitBytes && time <= unusedSince && !assets.isKept(kept[0].file) {
                left -= kept[0].sizeBytes
                chosen += kept
            }
            if left > limitBytes, let next = ordered.first(where: { $0.time > unusedSince }) {
                eviction = .spared(usedMilliseconds: next.time)
            }
            let gone: [String] = try notingDamage {
                try withPool { pool in
                    try pool.write { database in
                        // A record that was saved meanwhile may need the file.
                        let keys = try Set(fetchedKeys(database))
                        let rows = chosen.filter { keys.contains($0.key) }
                        return try remove(rows.map(\.key), files: rows.map(\.file), database)
                    }
                }
            }
            for file in gone { assets.remove(file) }
        }
        return isFree ? eviction : .isBusy
    }

    /// The files that could be downloaded again, each with all its rows.
    private func evictable(
        spared: (_ recordType: String, _ field: String, _ sizeBytes: Int64) -> Bool
    ) throws -> [[KeptFile]] {
        try read { database in
            let rows = try Row.fetchAll(database, sql: "SELECT key, file, sizeBytes FROM asset")
                .map { try KeptFile($0) }
            let keys = try Set(fetchedKeys(database))
            var sparedKeys: Set<String> = []
            let uses = try Row.fetchCursor(
                database,
                sql: """
                    SELECT assetUse.key, record.type, assetUse.field, asset.sizeBytes
                    FROM asset JOIN assetUse ON assetUse.key = asset.key AND source = 0
                    JOIN record ON record.id = assetUse.row
                    """)
            while let use = try uses.next() {
                let isSpared = spared(
                    try use.decode(atIndex: 1), try use.decode(atIndex: 2),
                    try use.decode(atIndex: 3))
                if isSpared { sparedKeys.insert(try use.decode(atIndex: 0)) }
            }
            return Dictionary(grouping: rows, by: \.file).values
                .filter { $0.allSatisfy { keys.contains($0.key) && !sparedKeys.contains($0.key) } }
                .sorted { $0[0].file < $1[0].file }
        }
    }

    /// The keys that are used only by records as the service has them: not by a pending change, a report, or a detached
    /// zone, whose files the service may have lost by the time it is attached.
    private func fetchedKeys(_ database: Database) throws -> [String] {
        try String.fetchAll(
            database,
            sql: """
                SELECT key FROM asset WHERE EXISTS (
                    SELECT 1 FROM assetUse WHERE assetUse.key = asset.key)
                AND NOT EXISTS (
                    SELECT 1 FROM assetUse LEFT JOIN record ON record.id = row AND source = 0
                    LEFT JOIN pending ON pending.zone = record.zone AND pending.name = record.name
                    WHERE assetUse.key = asset.key AND (source <> 0 OR record.system IS NULL
                        OR pending.sequence IS NOT NULL
                        OR record.zone IN (SELECT id FROM zone WHERE state = 5)))
                """)
    }

    // MARK: Downloading

    /// The name of a file that was downloaded.
    static func downloadName(_ key: String) -> String {
        "d" + Hexadecimal.text(SHA256.hash(data: Data(key.utf8)))
    }
}

extension CacheFile.KeptFile {
    /// A limit above the size of any file; with it, sums of sizes do not overflow.
    static let endOfSizes: Int64 = 1 << 48

    /// - Parameter row: the key, the file and the size.
    init(_ row: Row) throws {
        self.init(
            key: try row.decode(atIndex: 0), file: try row.decode(atIndex: 1),
            sizeBytes: try row.decode(atIndex: 2))
        guard (0..<Self.endOfSizes).contains(sizeBytes) else {
            throw CacheError.damagedNumber
        }
    }
}
