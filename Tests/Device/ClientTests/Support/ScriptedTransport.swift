import Foundation
import StratusClient
import StratusRecords
import StratusWire
import Synchronization

/// A service that answers as a test says, and records the requests.
final class ScriptedTransport: Transport {
    typealias Answering = @Sendable (any Sendable, RequestTarget) async throws -> any Sendable

    private let answering: Answering
    private let asked = Mutex<[any Sendable]>([])
    private let patience = Mutex<[Double]>([])
    private let notices: AsyncStream<NotificationPayload>?

    private let failingPoll: @Sendable () throws -> Void

    init(
        notices: AsyncStream<NotificationPayload>? = nil, _ answering: @escaping Answering,
        failingPoll: @escaping @Sendable () throws -> Void = {}
    ) {
        self.failingPoll = failingPoll
        self.notices = notices
        self.answering = answering
    }

    var requests: [any Sendable] { asked.withLock { $0 } }
    /// The time limit of each request, in seconds.
    var timeouts: [Double] { patience.withLock { $0 } }

    func requests<Request: Sendable>(_ type: Request.Type) -> [Request] {
        requests.compactMap { $0 as? Request }
    }

    func send<E: Endpoint>(
        _ endpoint: E.Type, _ request: E.Request, to target: RequestTarget, timeoutSeconds: Double
    ) async throws -> E.Answer {
        asked.withLock { $0.append(request) }
        patience.withLock { $0.append(timeoutSeconds) }
        guard let answer = try await answering(request, target) as? E.Answer else {
            throw TransportError(.answerUnreadable, "The test answers something else.")
        }
        return answer
    }

    func nextNotification(
        at webcourierURL: String, timeoutSeconds: Double
    ) async throws -> NotificationPayload? {
        try failingPoll()
        guard let notices else { return nil }
        for await notice in notices { return notice }
        try await Task.sleep(for: .seconds(3_600))
        return nil
    }
}

/// A log of events, in order, from any thread.
final class Log: Sendable {
    private let entries = Mutex<[String]>([])

    func add(_ entry: String) { entries.withLock { $0.append(entry) } }
    var all: [String] { entries.withLock { $0 } }
}

/// A container with a scripted service, one user, and a clock that does not wait.
func container(
    hasAccount: Bool = true, slept: Log? = nil, _ transport: ScriptedTransport
) -> CKContainer {
    let world = CloudConnection.World(
        nowMilliseconds: { 1_800_000_000_000 },
        sleep: { seconds in
            try Task.checkCancellation()
            slept?.add("\(seconds)")
        },
        // Eight bytes are a number; more are an identifier, which must be unique.
        randomBytes: {
            $0 == 8
                ? [UInt8](repeating: 0xFF, count: 8) : CloudConnection.World.live.randomBytes($0)
        })
    return CKContainer(
        identifier: "iCloud.org.example.Trails",
        connection: CloudConnection(
            transport: transport, hasAccount: hasAccount, deviceID: "phone", world: world))
}

func database(_ answering: @escaping ScriptedTransport.Answering) -> CKDatabase {
    container(ScriptedTransport(answering)).privateCloudDatabase
}

/// Runs an operation to its end, `completionBlock` included.
func run(_ operation: CKDatabaseOperation, on database: CKDatabase) async {
    let block = operation.completionBlock
    await withCheckedContinuation { continuation in
        operation.completionBlock = {
            block?()
            continuation.resume()
        }
        database.add(operation)
    }
}

let stamp = RecordDictionary.Stamp(
    timestampMilliseconds: 1_748_800_000_123, userRecordName: "_ida", deviceID: "2")

/// A saved record as a service returns it.
func served(
    _ name: String, tag: String = "t1", zone: String = "Trips", fields: [Field] = []
) -> RecordResult {
    .record(
        RecordDictionary(
            recordName: name, recordType: "Hut", recordChangeTag: tag, fields: .values(fields),
            zoneID: ZoneIDDictionary(zoneName: zone, ownerRecordName: "_ida"), created: stamp,
            modified: stamp))
}

let trips = CKRecordZone.ID(zoneName: "Trips")

func hut(_ name: String) -> CKRecord {
    CKRecord(recordType: "Hut", recordID: CKRecord.ID(recordName: name, zoneID: trips))
}

/// Accepts each operation of a modify request.
@Sendable func accept(_ request: any Sendable) -> RecordsModify.Answer {
    let operations = (request as? RecordsModify.Request)?.operations ?? []
    return RecordsModify.Answer(
        records: operations.map { operation in
            let name = operation.record.recordName ?? ""
            let zone = operation.record.zoneID?.zoneName ?? CKRecordZone.ID.defaultZoneName
            return operation.kind.isDeletion
                ? .deleted(.init(recordName: name)) : served(name, tag: "saved", zone: zone)
        })
}

func refused(_ name: String, _ error: ServiceError) -> RecordResult {
    .failure(RecordFailure(recordName: name, error: error))
}
