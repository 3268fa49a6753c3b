import Foundation
import GRDB
import Logging
import StratusClient
import StratusRecords
import StratusRuntime
import StratusSync

/// A damaged file is kept aside, and a new one takes its place; what was not sent is read out of it.
extension CacheFile {
    /// Opens a file and its databases, or a new one in the place of a damaged one.
    ///
    /// - Throws: as ``init(path:world:)``. A file that is no cache's stays where it is, and so does a damaged
    ///   one that another process has open.
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

    /// Whether an error says that the file is damaged: SQLite found it so, or a row cannot be decoded. A file
    /// that never was a cache, which has no cause, is somebody else's.
    private static func isDamage(_ error: any Error) -> Bool {
        if let error = error as? CacheError { return error.code == .damaged && error.cause != nil }
        guard let error = error as? DatabaseError else { return false }
        return [.SQLITE_CORRUPT, .SQLITE_NOTADB].contains(error.resultCode)
    }

    /// Notes that the file was found damaged: the next one who opens it starts with a new one.
    func noteDamage(_ error: any Error) {
        guard !assets.isInMemory, Self.isDamage(error) || isOfDamagedSchema(error) else { return }
        DamageMark(cachePath: path).set("")
    }

    /// Whether SQL of ours failed because the text of a table is not what it was; SQLite does not see that.
    private func isOfDamagedSchema(_ error: any Error) -> Bool {
        guard (error as? DatabaseError)?.resultCode == .SQLITE_ERROR else { return false }
        do {
            let found = try pool.read { try CacheFormat.schema(of: $0) }
            return try !CacheFormat.schemaOfEmptyFile().isSubset(of: found)
        } catch {
            return Self.isDamage(error)
        }
    }

    /// Whether a cache's file has lost all of its content.
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
        guard lock.take() else {
            throw CacheError(
                .inUse,
                "The file is damaged: end the other process that has it open, then try again."
            )
        }
        try DatabaseUse.waitUntilClosed(path)
        // A process that was killed while it did this goes on with the same name.
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
            throw CacheError(
                .unwritable,
                "The cache's folder cannot be written. Make it writable, with space left.",
                cause: error)
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

    /// Offers to the app what was read out of the damaged file, and keeps whose it is.
    private func take(
        _ salvaged: SalvagedChanges, from aside: String, _ world: World
    ) throws {
        try write { database in
            // A process that was killed after this had done it all.
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
            // Files that were not uploaded are nowhere else; they lie where the new file looks for them.
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

/// A file beside a cache's file that says that this one is damaged, and where it is being moved.
struct DamageMark {
    private let path: String

    init(cachePath: String) { path = cachePath + "-damaged" }

    var isSet: Bool { FileManager.default.fileExists(atPath: path) }

    /// Where the damaged file goes; nil while nobody has begun to move it.
    var aside: String? {
        // A mark that cannot be read says nothing more than that it is there.
        guard let text = try? String(contentsOfFile: path, encoding: .utf8), !text.isEmpty else {
            return nil
        }
        return text
    }

    func set(_ aside: String) {
        // Without room for it the next one who finds the damage sets it.
        try? Data(aside.utf8).write(to: URL(fileURLWithPath: path), options: .atomic)
    }

    func remove() {
        // What stays is done again, and changes nothing then.
        try? FileManager.default.removeItem(atPath: path)
    }
}
