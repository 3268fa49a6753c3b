import Foundation
import StratusCache
import StratusClient
import StratusRecords
import StratusSync

/// A second process that opens a cache's file, for tests: it runs the commands that it reads from its input, line by
/// line.
///
/// With the argument `assets` and a seed it runs ``AssetChurn``, and with `records` it runs ``RecordChurn``. Otherwise
/// the commands are `save NAME TEXT`, `read NAME`, `watch`, `start`, `stop` and `sync`, and it has no network.
@main
struct CachePeer {
    static func main() async throws {
        var settings = SyncSettings()
        settings.listensForNotifications = false
        if CommandLine.arguments.count == 6 {
            let words = CommandLine.arguments
            var churn = try RecordChurn(
                path: words[2], ledger: words[3], life: words[4], seed: UInt64(words[5]) ?? 1)
            return try await churn.run()
        }
        if CommandLine.arguments.count == 4 {
            return try await AssetChurn(
                path: CommandLine.arguments[2], seed: CommandLine.arguments[3]
            ).run()
        }
        let cache = try CloudCache(
            path: CommandLine.arguments[1], remotes: [NoNetwork()], settings: settings)
        say("open")
        while let line = readLine() {
            let words = line.split(separator: " ").map(String.init)
            do {
                try await perform(words, cache)
            } catch {
                say("error \(error)")
            }
        }
    }

    static func perform(_ words: [String], _ cache: CloudCache) async throws {
        switch words.first {
        case "save":
            try cache.save([
                LocalEdit(
                    id: id(words[1]), type: "Item",
                    changes: [Field(name: "text", value: .string(words[2]))])
            ])
            say("saved \(words[1])")
        case "read":
            if case .string(let text) = try cache.snapshot(id(words[1]))?["text"] {
                say("text \(text)")
            } else {
                say("text -")
            }
        case "watch":
            let changes = cache.changedIDs()
            Task {
                for await ids in changes {
                    say("changed \(ids.map(\.name).sorted().joined(separator: " "))")
                }
            }
            say("watching")
        case "start":
            await cache.start()
            say("waits \(try await cache.status().isSyncedElsewhere)")
        case "stop":
            await cache.stop()
            say("stopped")
        case "sync":
            try await cache.sync()
            say("synced")
        default: say("error Say save, read, watch, start, stop or sync.")
        }
    }

    /// Written without a buffer, as the test waits for the line.
    static func say(_ line: String) {
        FileHandle.standardOutput.write(Data((line + "\n").utf8))
    }

    static func id(_ name: String) -> RecordID {
        RecordID(name: name, zoneID: ZoneID(name: "List"))
    }
}

/// A service that cannot be reached.
struct NoNetwork: RemoteDatabase {
    var scope: CKDatabase.Scope { .private }
    private var failure: SyncFailure { SyncFailure(.networkUnavailable) }

    func userRecordName() async throws -> String { throw failure }
    func accountChanges() -> AsyncStream<Void> { AsyncStream { $0.finish() } }
    func hints() -> AsyncStream<HintEvent> { AsyncStream { $0.finish() } }
    func hint(of notification: CKNotification) -> ChangeHint? { nil }
    func saveSubscription(wasSaved: Bool) async throws -> Bool { throw failure }
    var deviceID: String { "phone" }
    func cancel(_ operations: [UnansweredOperation]) async throws {}

    func modifyZones(
        create: [ZoneID], delete: [ZoneID], generations: [ZoneID: Int64], operationID: String
    ) async throws -> ZoneOutcomes {
        throw failure
    }
    func databaseChanges(
        since token: String?, deletionsAfter version: Int64?
    ) async throws -> DatabasePage { throw failure }
    func zoneChanges(
        _ zone: ZoneID, since token: String?, knowing tags: [String], limit: Int?
    ) async throws -> ZonePage { throw failure }
    func send(
        _ changes: [OutgoingChange], isAtomic: Bool, operationID: String
    ) async throws -> [OutgoingAnswer] {
        throw failure
    }
    func records(_ ids: [RecordID]) async throws -> [Result<RecordSnapshot?, SyncFailure>] {
        throw failure
    }
}
