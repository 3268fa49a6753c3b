import Foundation
import GRDB
import StratusClient
import StratusRecords
import StratusRuntime
import StratusSync
import StratusWire
import Synchronization

@testable import StratusCache

/// A service of one zone that returns prepared pages: each token is the number of the next page.
final class PagedService: Transport {
    struct State {
        var pages: [[UInt8]] = []
        /// The tokens of the requests, in order.
        var asked: [String?] = []
        /// The requests' limits of records.
        var limits: [Int?] = []
        /// The zone versions after which the requests asked for deletions.
        var versions: [Int64?] = []
        /// Runs before an answer, and may throw instead.
        var trouble: (@Sendable (_ token: String?) async throws -> Void)?
    }

    let state = Mutex(State())

    /// Whether a page was requested.
    var isAsked: Bool { state.withLock { !$0.asked.isEmpty } }

    init(_ pages: [[UInt8]] = []) { state.withLock { $0.pages = pages } }

    func send<E: Endpoint>(
        _ endpoint: E.Type, _ asked: E.Request, to target: RequestTarget, timeoutSeconds: Double
    ) async throws -> E.Answer {
        var bytes = Array(#"{"userRecordName":"\#(RandomPages.owner)"}"#.utf8)
        if let request = asked as? ChangesZone.Request {
            let token = request.zones.first?.syncToken
            let trouble = state.withLock { state in
                state.asked.append(token)
                state.limits.append(request.zones.first?.resultsLimit)
                state.versions.append(request.zones.first?.deletionsAfterVersion)
                return state.trouble
            }
            try await trouble?(token)
            let number = token.flatMap { Int($0) } ?? 0
            bytes = state.withLock { state in
                state.pages.indices.contains(number)
                    ? state.pages[number] : RandomPages.end(number)
            }
        } else if asked is ChangesDatabase.Request {
            bytes = Array(
                (#"{"zones":[{"zoneID":{"zoneName":"List","ownerRecordName":"\#(RandomPages.owner)"}}],"#
                    + #""syncToken":"1"}"#).utf8)
        }
        return try bytes.withUnsafeBytes { try E.answer(to: asked, from: $0) }
    }

    func nextNotification(
        at webcourierURL: String, timeoutSeconds: Double
    ) async throws -> NotificationPayload? { nil }
}

/// A cache in memory with a stopped clock, connected to such a service.
struct PagedCache {
    static let zone = ZoneID(name: "List", ownerName: CKCurrentUserDefaultName)

    let memory: MemoryCacheFile
    let database: CKDatabase
    let cache: CloudCache

    var store: CacheStore { cache.databases[0].store }
    var remote: CloudKitDatabase { CloudKitDatabase(database: database) }

    /// - Parameter pageAheadBytes: With 0 each page is a transaction of its own.
    init(
        _ service: PagedService, memory: MemoryCacheFile? = nil,
        settings: SyncSettings = SyncSettings(), pageAheadBytes: Int = 0
    ) throws {
        var world = World.live
        world.nowMilliseconds = { 1_700_000_000_000 }
        world.randomBytes = { [UInt8](repeating: 7, count: $0) }
        let connection = CloudConnection(
            transport: service, hasAccount: true, deviceID: "device", world: world,
            keyStore: MemoryKeyStore())
        let container = CKContainer(
            identifier: "iCloud.org.example.Lists", connection: connection)
        database = container.privateCloudDatabase
        self.memory = try memory ?? MemoryCacheFile()
        var settings = settings
        settings.savesSubscription = false
        settings.pageAheadBytes = pageAheadBytes
        cache = try CloudCache(
            memory: self.memory, container: container, scopes: [.private], settings: settings,
            types: [
                CachedType("Note", indexed: ["rank", "modificationDate"], searchable: ["title"])
            ], world: world)
    }

    /// The page as the framework's public calls return it, with an object for each record.
    func pageOfObjects(since token: String?, _ bytes: [UInt8]) async throws -> ZonePage {
        let page = try await database.withoutAssetDownloads.recordZoneChanges(
            inZoneWith: CKRecordZone.ID(Self.zone),
            since: token.map { CKServerChangeToken(text: $0) })
        let answer = try readWire(ChangesZone.Answer.self, from: bytes)
        let names = try answer.items[0].get().records.compactMap { result in
            if case .record(let record) = result { record.recordName } else { nil }
        }
        let records = try names.compactMap { name in
            try page.modificationResultsByID[
                CKRecord.ID(recordName: name, zoneID: CKRecordZone.ID(Self.zone))
            ]
            .map { try RecordSnapshot($0.get().record) }
        }
        return ZonePage(
            records: records, deletedNames: page.deletions.map(\.recordID.recordName),
            token: page.changeToken.text, moreComing: page.moreComing)
    }

    /// The table of records as SQL literals, without row IDs.
    func recordRows() throws -> [String] {
        try store.read { database in
            try Row.fetchAll(
                database,
                sql: "SELECT name, type, hex(system), parent, hex(fields) FROM record ORDER BY name"
            ).map { "\($0)" }
        }
    }

    /// Every row of every table, as SQL literals.
    ///
    /// - Parameter hidden: Tables to leave out; the count of begun fetches is left out with them.
    func rows(butFor hidden: Set<String> = []) throws -> [String] {
        let columns: Set<String> = hidden.isEmpty ? [] : ["pass"]
        return try rows(hidden, columns)
    }

    private func rows(_ hidden: Set<String>, _ columns: Set<String>) throws -> [String] {
        try store.read { database in
            let tables = try String.fetchAll(
                database,
                sql: "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
            return try tables.filter { !hidden.contains($0) }.flatMap { table in
                try Row.fetchAll(database, sql: "SELECT * FROM \(table)").map { row in
                    let values = row.filter { columns.isDisjoint(with: [$0.0]) }
                        .map { "\($0.0)=\($0.1)" }
                    let bytes = row.compactMap { Data.fromDatabaseValue($0.1) }
                    return
                        "\(table): \(values) \(bytes.map { String(decoding: $0, as: UTF8.self) })"
                }
            }.sorted()
        }
    }
}
