import Foundation
import StratusClient
import StratusRecords
import StratusTesting
import StratusWire
import Synchronization

/// A transport whose traffic a test counts and interrupts.
final class TappedTransport: Transport {
    struct Counts: Equatable {
        var uploads = 0
        var downloads = 0
        var largestPiece = 0
    }

    private let transport: any Transport
    private let counted = Mutex(Counts())
    private let taps = Mutex(Taps())

    /// Closures that run before each kind of traffic.
    struct Taps: Sendable {
        var request: @Sendable (any Sendable) async throws -> Void = { _ in }
        /// Runs after a request was served, before its answer is passed on.
        var served: @Sendable (_ path: String) async throws -> Void = { _ in }
        /// Replaces the service's answer to a request.
        var answer: @Sendable (_ request: any Sendable, _ answer: any Sendable) -> any Sendable = {
            $1
        }
        var upload: @Sendable () async throws -> Void = {}
        var download: @Sendable () async throws -> Void = {}
    }

    init(_ transport: any Transport) {
        self.transport = transport
    }

    /// The paths of the requests, in order.
    let sent = Log()

    var counts: Counts { counted.withLock { $0 } }

    func tap(_ change: (inout Taps) -> Void) {
        taps.withLock { change(&$0) }
    }

    func send<E: Endpoint>(
        _ endpoint: E.Type, _ request: E.Request, to target: RequestTarget, timeoutSeconds: Double
    ) async throws -> E.Answer {
        sent.add(E.path)
        try await taps.withLock { $0 }.request(request)
        let answer = try await transport.send(
            endpoint, request, to: target, timeoutSeconds: timeoutSeconds)
        try await taps.withLock { $0 }.served(E.path)
        return taps.withLock { $0 }.answer(request, answer) as? E.Answer ?? answer
    }

    func nextNotification(
        at webcourierURL: String, timeoutSeconds: Double
    ) async throws -> NotificationPayload? {
        try await transport.nextNotification(at: webcourierURL, timeoutSeconds: timeoutSeconds)
    }

    func upload(
        _ asset: AssetUpload, to url: String, timeoutSeconds: Double
    ) async throws -> AssetReceipt {
        counted.withLock { $0.uploads += 1 }
        try await taps.withLock { $0 }.upload()
        return try await transport.upload(asset, to: url, timeoutSeconds: timeoutSeconds)
    }

    func download(
        from url: String, timeoutSeconds: Double,
        receive: @escaping @Sendable ([UInt8]) async throws -> Void
    ) async throws {
        counted.withLock { $0.downloads += 1 }
        try await taps.withLock { $0 }.download()
        try await transport.download(from: url, timeoutSeconds: timeoutSeconds) { piece in
            self.counted.withLock { $0.largestPiece = max($0.largestPiece, piece.count) }
            try await receive(piece)
        }
    }
}

extension TappedTransport: AccountTransport {
    func changeAccount(webAuthToken: String?) {
        (transport as? any AccountTransport)?.changeAccount(webAuthToken: webAuthToken)
    }

    func webAuthToken(
        forAPIToken apiToken: String, to target: RequestTarget, timeoutSeconds: Double
    ) async throws -> String {
        guard let transport = transport as? any AccountTransport else { return "" }
        return try await transport.webAuthToken(
            forAPIToken: apiToken, to: target, timeoutSeconds: timeoutSeconds)
    }
}

/// A folder of a test, which is removed with it.
final class Scratch: Sendable {
    let folder: URL

    init() throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent(
            "scratch-" + UUID().uuidString)
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700])
    }

    deinit {
        // The system empties its temporary folder anyway.
        try? FileManager.default.removeItem(at: folder)
    }

    /// Makes a file of this many bytes, which differ by seed.
    func file(_ name: String, bytes count: Int, seed: UInt8 = 7) throws -> URL {
        let url = folder.appendingPathComponent(name)
        try Data(content(count, seed: seed)).write(to: url)
        return url
    }
}

func content(_ count: Int, seed: UInt8 = 7) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8 &+ Int(seed)) }
}

extension TestCloud {
    /// The private database of a device of Ida's with the zone `trips`, and its transport.
    func tappedDevice(_ name: String) async throws -> (CKDatabase, TappedTransport) {
        let connection = try await connect(user: "ida", device: name)
        let transport = TappedTransport(connection.transport)
        let tapped = CloudConnection(
            transport: transport, hasAccount: true, deviceID: name, keyStore: MemoryKeyStore())
        let database = CKContainer(
            identifier: "iCloud.org.example.Trails", connection: tapped
        ).privateCloudDatabase
        try await database.save(CKRecordZone(zoneID: trips))
        return (database, transport)
    }
}

extension Array {
    /// Changes each item of an answer that is not a failure.
    func changed<Value, Failure>(
        _ change: (inout Value) -> Void
    ) -> Self where Element == Result<Value, Failure> {
        map { item in
            item.map { value in
                var value = value
                change(&value)
                return value
            }
        }
    }
}
