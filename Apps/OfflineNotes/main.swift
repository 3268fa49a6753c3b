// The example app of Documentation/OfflineFirst.md: notes with pictures, some pinned, some shared. Each line of standard
// input is a tap of the user; the argument names the file, STRATUS_URL and STRATUS_DEV_USER the service and the user.
import Foundation
import GRDB
import StratusCache
import StratusClient

let zone = CKRecordZone.ID(zoneName: "Notes")
let title = RecordField<String>("title")
let notes = CacheQuery("Note").sorted(by: title)

func say(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }
func id(_ name: String) -> CKRecord.ID { CKRecord.ID(recordName: name, zoneID: zone) }

/// Prints every change, by any device, while the app runs.
func follow(_ cache: CloudCache, _ scope: CKDatabase.Scope) async throws {
    for try await update in try cache.observe(notes, in: scope) {
        for change in update.changes where change.author != .thisDevice {
            say("\(change.recordID.recordName) was \(change.kind) by \(change.author)")
        }
    }
}

/// One file has the user's own notes, those of others, and the table of pins.
let cache = try CloudCache(
    path: CommandLine.arguments[1], container: .default(),
    types: [CachedType("Note", indexed: ["title"])])
try cache.write { transaction in
    try transaction.database.execute(
        sql: "CREATE TABLE IF NOT EXISTS app_pin (note TEXT PRIMARY KEY)")
}
for scope in [CKDatabase.Scope.private, .shared] {
    Task.detached { try await follow(cache, scope) }
}

func perform(_ command: String, _ name: String, _ value: String) async throws {
    switch command {
    case "add":
        let note = CKRecord(recordType: "Note", recordID: id(name))
        note["title"] = name
        if !value.isEmpty { note["picture"] = CKAsset(fileURL: URL(fileURLWithPath: value)) }
        try await cache.save(note)
        say("saved \(name)")
    case "pin":
        try await cache.write { transaction in
            try transaction.database.execute(
                sql: "INSERT OR REPLACE INTO app_pin VALUES (?)", arguments: [name])
        }
        say("pinned \(name)")
    case "list":
        let pinned = try await cache.read { database in
            try String.fetchAll(
                database, sql: "SELECT title FROM records_Note JOIN app_pin ON note = _recordName")
        }
        let own = try await cache.records(matching: notes)
        let others = try await cache.records(matching: notes, in: .shared)
        let names = (own + others).compactMap { $0["title"] as String? }
        say("notes \(names.joined(separator: " ")), pinned \(pinned.joined(separator: " "))")
    case "picture":
        let picture = try await cache.asset("picture", of: id(name))
        say("picture of \(try Data(contentsOf: picture.fileURL).count) bytes")
    case "share":
        let share = try await cache.share(id(name)).recordID
        let open = try await cache.changeShare(share) { $0.publicPermission = .readOnly }
        say("link \(open.url?.absoluteString ?? "none")")
    case "join":
        guard let link = URL(string: name) else { return say("refused: no link") }
        let joined = try await cache.acceptShare(at: link)
        say("joined \(joined.zoneName)")
    default:
        try await cache.sync()
        say("synced")
    }
}

say("ready")
while let line = readLine() {
    let words = line.split(separator: " ").map(String.init) + ["", "", ""]
    do { try await perform(words[0], words[1], words[2]) } catch { say("refused: \(error)") }
}
