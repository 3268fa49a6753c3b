import Foundation
import StratusCache
import StratusClient
import StratusSync
import Synchronization

/// How fast a new device gets a zone with many records: from pages in this process, which cost nothing, or from
/// the service that the environment names. Beside it the same rows, as fast as SQLite takes them.
struct FirstSync {
    var recordCount: Int
    var recordsPerPage: Int
    /// Whether the type of the records is declared: three columns and the words of a field.
    var isDeclared: Bool

    /// - Returns: records a second.
    func fromPages() async throws -> Double {
        let transport = try PageTransport(records: recordCount, recordsPerPage: recordsPerPage)
        let connection = CloudConnection(
            transport: transport, hasAccount: true, keyStore: MemoryKeyStore())
        let memory = Mutex<Double>(0)
        let early = transport.pageCount / 10
        transport.onPage { page in
            if page == early { memory.withLock { $0 = CacheBench.residentMegabytes() } }
        }
        let path = NSTemporaryDirectory() + "first-\(UUID().uuidString).sqlite"
        defer { for suffix in ["", "-wal", "-shm", "-lock"] { unlink(path + suffix) } }
        let rate = try await sync(path, connection)
        let (tenth, all) = (memory.withLock { $0 }, CacheBench.residentMegabytes())
        CacheBench.say("resident after a tenth, MB", tenth)
        CacheBench.say("resident at the end, MB more", all - tenth)
        return rate
    }

    func sync(_ path: String, _ connection: CloudConnection) async throws -> Double {
        var settings = SyncSettings()
        settings.savesSubscription = false
        settings.recordsPerPage = recordsPerPage == 0 ? nil : recordsPerPage
        let cache = try CloudCache(
            path: path,
            container: CKContainer(
                identifier: "iCloud.org.example.Benchmark", connection: connection),
            scopes: [.private], settings: settings, types: isDeclared ? CacheBench.types : nil)
        let begun = ContinuousClock.now
        try await cache.sync()
        let seconds = (ContinuousClock.now - begun) / .seconds(1)
        let status = try await cache.status()
        precondition(status.recordCount == recordCount, "\(status.recordCount) records came.")
        try cache.close()
        return Double(recordCount) / seconds
    }
}
