import Foundation
import GRDB
import Logging
import StratusClient
import StratusRecords
import StratusRuntime
import StratusSync

/// A damaged file is moved aside and replaced by a new one; the unsent changes are salvaged from
/// it.
extension CacheFile {
    /// Opens a file and its databases, or a new one in place of a damaged one.
    ///
    /// - Throws: as ``init(path:world:)``. A file that is not a cache stays where it is, and so
    ///   does a damaged one that another process has open.
    static func opened<Remote, Part>(
        path: String, for remotes: [Remote], world: World,
        _ part: (CacheFile, Remote) throws -> Part
    ) throws -> (CacheFile, [Part]) {
        let mark = DamageMark(cachePath: path)
        var file: CacheFile?
        if try mark.isSet || isEmptied(path) { file = try replaced(path, mark, world) }
        do {
            let opened = try file ?? CacheFile(path: path, world: world)
            file = opened
            return (opened, try remotes.map { try part(opened, $0) })
        } catch {
            guard FileManager.default.fileExists(atPath: path + "-lock"),
                isDamage(error) || file?.isOfDamagedSchema(error) == true
            else { throw error }
            file?.close()
            let opened = try replaced(path, mark, world)
            return (opened, try remotes.map { try part(opened, $0) })
        }
    }

    /// Whether an error means that the file is damaged: SQLite reports it, or a row cannot be decoded. A `damaged`
    /// error without a cause means that the file was never a cache and belongs to another program.
    private static func isDamage(_ error: any Error) -> Bool {
        if let error = error as? CacheError { return error.code == .damaged && error.cause != nil }
        if error is RowDecodingError { return true }
        guard let error = error as? DatabaseError else { return false }
        return [.SQLITE_CORRUPT, .SQLITE_NOTADB].contains(error.resultCode)
    }

    /// Marks the file as damaged, so that the next opening starts with a new one.
    func noteDamage(_ error: any Error) {
        guard !assets.isInMemory, Self.isDamage(error) || isOfDamagedSchema(error) else { return }
        DamageMark(cachePath: path).set("")
    }

    /// Whether a statement of the cache failed because the schema was altered, which SQLite does
    /// not report as damage.
    private func isOfDamagedSchema(_ error: any Error) -> Bool {
        guard (error as? DatabaseError)?.resultCode == .SQLITE_ERROR else { return false }
        do {
            return try withPool { pool in
                try pool.read { database in
                    let found = try CacheFormat.schema(of: database)
                    guard try CacheFormat.schemaOfEmptyFile().isSubset(of: found) else {
                        return true
                    }
                    return try !tables(ofTypes: database).isSubset(of: found.map { $0[0] })
                }
            }
        } catch {
            return Self.isDamage(error)
        }
    }

    /// Whether a row has the highest possible number, after which SQLite reports that the disk is full.
    func isOutOfNumbers() -> Bool {
        do {
            let last = try withPool { pool in
                try pool.read { database in
                    try Int64.fetchOne(
                        database,
                        sql: """
                            SELECT max(number) FROM (
                                SELECT max(seq) AS number FROM sqlite_sequence
                                UNION ALL SELECT max(sequence) FROM pending
                                UNION ALL SELECT max(id) FROM report
                                UNION ALL SELECT max(id) FROM event)
                            """)
                }
            }
            return last == .max
        } catch {
            return Self.isDamage(error)
        }
    }

    /// Whether a cache's file has lost all its content.
    private static func isEmptied(_ path: String) throws -> Bool {
        let files = FileManager.default
        guard files.fileExists(atPath: path), files.fileExists(atPath: path + "-lock") else {
            return false
        }
        return try files.attributesOfItem(atPath: path)[.size] as? Int == 0
    }

    private static func replaced(
        _ path: String, _ mark: DamageMark, _ world: World
    ) throws -> CacheFile {
        let lock = try CacheLock(cachePath: path)
        defer { lock.close() }
        guard lock.take(.private), lock.take(.shared) else {
            throw CacheError(
                .inUse,
                "The cache's file \(path) is damaged, and another process has it open. End that process, then try again."
            )
        }
        try DatabaseUse.waitUntilClosed(path)
        // If a process was killed while it moved the file, continue with the same name.
        let aside = mark.aside ?? path + ".damaged-\(timestamp(world))"
        do {
            if mark.aside == nil {
                mark.set(aside)
                try move(path, aside)
            } else if !FileManager.default.fileExists(atPath: aside) {
                try move(path, aside)
            }
            for suffix in ["-wal", "-shm"]
            where !FileManager.default.fileExists(atPath: path) {
                try move(path + suffix, aside + suffix)
            }
        } catch {
            throw CacheError.unwritable(path, cause: error)
        }
        let file = try CacheFile(path: path, world: world)
        let salvaged = SalvagedChanges(fileAt: aside)
        try file.take(salvaged, from: aside, world)
        mark.remove()
        CacheLog(file: file, scope: nil, world: world).note(
            .error, "damaged",
            [
                "keptAside": aside, "saves": "\(salvaged.saves.count)",
                "deletions": "\(salvaged.deletions.count)",
                "unreadable": "\(salvaged.unreadable.count)",
            ])
        return file
    }

    private static func move(_ path: String, _ aside: String) throws {
        guard FileManager.default.fileExists(atPath: path) else { return }
        try FileManager.default.moveItem(atPath: path, toPath: aside)
    }

    private static func timestamp(_ world: World) -> String {
        world.now.formatted(
            Date.ISO8601FormatStyle(dateSeparator: .omitted, timeSeparator: .omitted))
    }

    /// Reports the salvaged changes to the app, and keeps the file's user.
    private func take(
        _ salvaged: SalvagedChanges, from aside: String, _ world: World
    ) throws {
        try write { database in
            // Done already by a process that was killed afterwards.
            let isDone = try Bool.fetchOne(
                database,
                sql:
                    "SELECT EXISTS (SELECT 1 FROM report WHERE kind = 'fileDamaged' AND subject = ?)",
                arguments: [aside])
            guard isDone != true else { return }
            for (name, value) in salvaged.flags {
                try database.execute(
                    sql: "INSERT OR IGNORE INTO flag (database, name, value) VALUES (0, ?, ?)",
                    arguments: [name, value])
            }
            for field in salvaged.encryptedFields {
                try database.execute(
                    sql: "INSERT OR IGNORE INTO encryptedField (type, key) VALUES (?, ?)",
                    arguments: [field.type, field.key])
            }
            // Files that were not uploaded are only on this device, in the folder that the new file
            // uses too.
            for kept in salvaged.filesOfSaves { try add(kept, database) }
            for scope in salvaged.scopes {
                let content = try StoredReport(salvaged, in: scope, aside: aside)
                try database.execute(
                    sql: """
                        INSERT INTO report (database, time, kind, subject, content)
                        VALUES (?, ?, 'fileDamaged', ?, ?)
                        """,
                    arguments: [
                        scope.rawValue, world.nowMilliseconds(), aside,
                        try content.encoded(),
                    ])
                let report = database.lastInsertedRowID
                for save in salvaged.saves where save.scope == scope {
                    try noteAssets(of: save.client, report: report, database)
                }
            }
        }
        try readEncryptedKeys()
    }
}

/// A file beside a cache's file that marks it as damaged, and says where it is being moved.
struct DamageMark {
    private let path: String

    init(cachePath: String) { path = cachePath + "-damaged" }

    var isSet: Bool { FileManager.default.fileExists(atPath: path) }

    /// Where the damaged file is moved; nil before the move has begun.
    var aside: String? {
        // A mark that cannot be read still marks the file as damaged; the move then starts with a
        // new name.
        guard let text = try? String(contentsOfFile: path, encoding: .utf8), !text.isEmpty else {
            return nil
        }
        return text
    }

    func set(_ aside: String) {
        // If it cannot be written, as on a full disk, the file stays in use until its damage is
        // found again. The error of the damage itself is thrown to the caller.
        try? Data(aside.utf8).write(to: URL(fileURLWithPath: path), options: .atomic)
    }

    func remove() {
        // If the mark stays, the next opening repeats these steps. They have no effect as long as
        // the report is there; after the app has removed it, the same changes are reported once
        // more.
        try? FileManager.default.removeItem(atPath: path)
    }
}
