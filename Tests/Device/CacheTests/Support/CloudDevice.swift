import Foundation
import StratusCache
import StratusClient
import StratusRecords
import StratusRuntime
import StratusSync
import StratusTesting
import StratusWire
import Synchronization

/// A device on the real service, in process, with its own connection, file and clock.
final class CloudDevice: Sendable {
    static let container = "iCloud.org.example.Lists"

    let transport: FaultyTransport
    let connection: CloudConnection
    let path: String
    let time: TestTime
    private let open: @Sendable () throws -> CloudCache
    private let opened: Mutex<CloudCache>

    var cache: CloudCache { opened.withLock { $0 } }

    init(
        _ cloud: TestCloud, _ name: String, user: String = "alice",
        time: TestTime = TestTime(), settings: SyncSettings = .quick,
        resolver: (any ConflictResolver)? = nil, assets: AssetSettings = AssetSettings(),
        keyStore: (any CloudKeyStore)? = nil, versions: RecordVersions = RecordVersions()
    ) async throws {
        let link = try await cloud.connect(user: user, device: name)
        guard let inner = link.transport as? any AccountTransport else {
            throw CacheError(.unwritable, "Give the test a transport whose account can change.")
        }
        transport = FaultyTransport(inner)
        time.follow(World.live.nowMilliseconds)
        // With the same clock: on a slow machine an answer may take as long as a clock is wrong, and then the offset
        // cannot be determined.
        connection = CloudConnection(
            transport: transport, hasAccount: true, deviceID: name, world: time.world,
            keyStore: keyStore ?? cloud.keyStore)
        self.time = time
        let path = NSTemporaryDirectory() + "cache-\(UUID().uuidString).sqlite"
        self.path = path
        try EmptyCacheFile.write(to: path)
        open = { [connection] in
            try CloudCache(
                path: path, container: CloudDevice.container(connection), settings: settings,
                resolver: resolver, versions: versions, assets: assets, world: time.world)
        }
        opened = Mutex(try open())
    }

    deinit {
        for suffix in ["", "-wal", "-shm", "-lock", "-assets"] {
            // A file that was never created need not be removed.
            try? FileManager.default.removeItem(atPath: path + suffix)
        }
    }

    static func container(_ connection: CloudConnection) -> CKContainer {
        CKContainer(identifier: container, connection: connection)
    }

    /// Ends the process and starts it again: nothing is left in memory.
    func restart() throws {
        try opened.withLock { cache in
            try cache.close()
            cache = try open()
        }
    }

    func save(_ name: String, _ text: String) throws {
        let id = CKRecord.ID(recordName: name, zoneID: .list)
        let record = try cache.record(for: id) ?? CKRecord(recordType: "Item", recordID: id)
        record["text"] = text
        try cache.save(record)
    }

    func delete(_ name: String) throws {
        try cache.delete(CKRecord.ID(recordName: name, zoneID: .list))
    }

    func texts() throws -> [String: String] {
        var texts: [String: String] = [:]
        for record in try cache.records(ofType: "Item", inZoneWith: .list) {
            texts[record.recordID.recordName] = record["text"]
        }
        return texts
    }
}

extension CKRecordZoneID {
    static let list = CKRecordZoneID(zoneName: "List")
}

/// A transport with scripted losses of requests and answers.
final class FaultyTransport: PassingTransport {
    enum Fault {
        case requestLost
        case answerLost
    }

    let inner: any AccountTransport
    private let state = Mutex<(count: Int, script: [Int: Fault])>((0, [:]))
    private let tap = Mutex<@Sendable (any Sendable, any Sendable) async -> any Sendable>({ $1 })

    /// Lets a test look at each request, and change or delay its answer.
    func tap(_ tap: @escaping @Sendable (any Sendable, any Sendable) async -> any Sendable) {
        self.tap.withLock { $0 = tap }
    }

    private struct Keeping {
        /// The endpoint whose next request is held back.
        var path: String?
        var kept: (@Sendable () async -> Void)?
    }

    private let keeping = Mutex(Keeping())

    /// Holds back the next request to an endpoint, until it is taken and delivered.
    func keep(_ path: String) { keeping.withLock { $0.path = path } }

    var hasKept: Bool { keeping.withLock { $0.kept != nil } }

    func takeKept() -> (@Sendable () async -> Void)? { keeping.withLock { $0.kept.take() } }

    private func keeps(_ path: String, _ request: @escaping @Sendable () async -> Void) -> Bool {
        keeping.withLock { keeping in
            guard keeping.path == path else { return false }
            keeping.path = nil
            keeping.kept = request
            return true
        }
    }

    init(_ inner: any AccountTransport) {
        self.inner = inner
    }

    var requestCount: Int { state.withLock { $0.count } }

    /// Fails the request with this number, counted from now.
    func fail(request number: Int, _ fault: Fault) {
        state.withLock { $0.script[$0.count + number] = fault }
    }

    /// Ends all scripted faults.
    func endFaults() { state.withLock { $0.script = [:] } }

    func send<E: Endpoint>(
        _ endpoint: E.Type, _ request: E.Request, to target: RequestTarget, timeoutSeconds: Double
    ) async throws -> E.Answer {
        let fault = state.withLock { state in
            state.count += 1
            return state.script[state.count - 1]
        }
        if fault == .requestLost { throw TransportError(.refused, "There is no network.") }
        let isKept = keeps(E.path) { [inner] in
            // The answer is dropped.
            _ = try? await inner.send(
                endpoint, request, to: target, timeoutSeconds: timeoutSeconds)
        }
        if isKept { throw TransportError(.timedOut, "The request is on its way.") }
        let answer = try await inner.send(
            endpoint, request, to: target, timeoutSeconds: timeoutSeconds)
        if fault == .answerLost { throw TransportError(.answerLost, "The answer is gone.") }
        return await tap.withLock { $0 }(request, answer) as? E.Answer ?? answer
    }

    /// Files that were uploaded, and the first bytes that downloads requested.
    struct Transfers {
        var uploads = 0
        var downloadOffsets: [Int64] = []
        /// The next download is cut after this many bytes.
        var cutsAfter: Int64?
        /// The next upload finds no network.
        var losesUpload = false
    }

    private let moved = Mutex(Transfers())
    var transfers: Transfers { moved.withLock { $0 } }

    func change(_ body: (inout Transfers) -> Void) { moved.withLock { body(&$0) } }

    func upload(
        _ asset: AssetUpload, to url: String, timeoutSeconds: Double
    ) async throws -> AssetReceipt {
        let isLost = moved.withLock { moved in
            defer { moved.losesUpload = false }
            if !moved.losesUpload { moved.uploads += 1 }
            return moved.losesUpload
        }
        if isLost { throw TransportError(.refused, "There is no network.") }
        return try await inner.upload(asset, to: url, timeoutSeconds: timeoutSeconds)
    }

    func download(
        from url: String, startingAt offset: Int64, timeoutSeconds: Double,
        receive: @escaping @Sendable ([UInt8]) async throws -> Void
    ) async throws {
        let cut = moved.withLock { moved in
            moved.downloadOffsets.append(offset)
            defer { moved.cutsAfter = nil }
            return moved.cutsAfter
        }
        let count = Mutex<Int64>(0)
        try await inner.download(from: url, startingAt: offset, timeoutSeconds: timeoutSeconds) {
            piece in
            try await receive(piece)
            let sum = count.withLock { sum in
                sum += Int64(piece.count)
                return sum
            }
            if let cut, sum >= cut { throw TransportError(.answerLost, "The line is cut.") }
        }
    }

    func nextNotification(
        at webcourierURL: String, timeoutSeconds: Double
    ) async throws -> NotificationPayload? {
        polling.withLock { polls in
            polls.open += 1
            polls.mostOpen = max(polls.mostOpen, polls.open)
        }
        defer { polling.withLock { $0.open -= 1 } }
        let payload = try await inner.nextNotification(
            at: webcourierURL, timeoutSeconds: timeoutSeconds)
        if let payload { polling.withLock { $0.notifications.append(payload) } }
        return payload
    }

    /// Long polls for notifications.
    struct Polls {
        var open = 0
        /// The highest number of polls that were open at the same time.
        var mostOpen = 0
        var notifications: [NotificationPayload] = []
    }

    private let polling = Mutex(Polls())
    var polls: Polls { polling.withLock { $0 } }
}
