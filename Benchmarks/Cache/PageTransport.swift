import Foundation
import StratusClient
import StratusRecords
import StratusWire
import Synchronization

/// A service of one zone whose pages were written before: what a first sync costs where the service costs
/// nothing. Answers are read from the very bytes that a service would have sent.
final class PageTransport: Transport {
    static let zone = ZoneIDDictionary(zoneName: "Bench", ownerRecordName: owner)
    static let recordType = "Note"
    private static let owner = "_0123456789abcdef0123456789abcdef"

    let pageCount: Int
    private let file: FileHandle
    private let offsets: [Int]
    private let pageAsked = Mutex<@Sendable (Int) -> Void>({ _ in })

    /// Writes the pages into a file that is already deleted, so that it disappears with the process.
    init(records count: Int, recordsPerPage: Int) throws {
        let path = NSTemporaryDirectory() + "pages-\(UUID().uuidString)"
        guard FileManager.default.createFile(atPath: path, contents: nil) else {
            throw CocoaError(.fileWriteUnknown)
        }
        file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
        try FileManager.default.removeItem(atPath: path)
        pageCount = (count + recordsPerPage - 1) / recordsPerPage
        var offsets = [0]
        var chance = Chance()
        for page in 0..<pageCount {
            let numbers = page * recordsPerPage..<min((page + 1) * recordsPerPage, count)
            let answer = ChangesZone.Answer([
                .success(
                    ChangesZone.Page(
                        zoneID: Self.zone,
                        records: numbers.map { .record(Self.note($0, &chance)) },
                        syncToken: "\(page + 1)", moreComing: page + 1 < pageCount))
            ])
            let bytes = wireBytes(of: answer, reservingBytes: 1_000_000)
            try file.write(contentsOf: bytes)
            offsets.append(offsets[page] + bytes.count)
        }
        self.offsets = offsets
    }

    var byteCount: Int { offsets.last ?? 0 }

    /// Calls a body with the number of each requested page, from 0.
    func onPage(_ body: @escaping @Sendable (Int) -> Void) { pageAsked.withLock { $0 = body } }

    /// A record as the service stores it after an app with Stratus saved it, with the times of its edits.
    private static func note(_ number: Int, _ chance: inout Chance) -> RecordDictionary {
        let milliseconds = 1_700_000_000_000 + Int64(number) * 1_000
        let stamp = RecordDictionary.Stamp(
            timestampMilliseconds: milliseconds, userRecordName: owner, deviceID: "phone")
        let fields = [
            Field(name: "date", value: .timestamp(milliseconds: milliseconds)),
            Field(name: "isDone", value: .int64(Int64(number % 2))),
            Field(name: "rank", value: .int64(Int64(number))),
            Field(name: "stratusFieldTimes", value: .string("1lq3k5x2a0AbCdEFgHiJKlMnOPqRsTu")),
            Field(name: "title", value: .string("A note with word\(number)")),
        ]
        return RecordDictionary(
            recordName: chance.name(), recordType: recordType,
            recordChangeTag: String(number, radix: 36) + ".k3",
            fields: .encoded(RecordFields.values(fields).encoded()), zoneID: zone, created: stamp,
            modified: stamp)
    }

    /// Names without an order, like UUIDs, but the same in each run.
    private struct Chance {
        private var state: UInt64 = 0x9E37_79B9_7F4A_7C15

        private mutating func next() -> UInt64 {
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            return state
        }

        mutating func name() -> String {
            UUID(
                uuid: withUnsafeBytes(of: (next(), next())) { $0.loadUnaligned(as: uuid_t.self) }
            ).uuidString
        }
    }

    func send<E: Endpoint>(
        _ endpoint: E.Type, _ asked: E.Request, to target: RequestTarget, timeoutSeconds: Double
    ) async throws -> E.Answer {
        switch asked {
        case let request as ChangesZone.Request:
            let page = request.zones.first?.syncToken.flatMap { Int($0) } ?? 0
            pageAsked.withLock { $0 }(page)
            return try bytes(of: page).withUnsafeBytes { try E.answer(to: asked, from: $0) }
        case let request as ChangesDatabase.Request:
            // If the first sync takes long, the changes of the database are requested again during it.
            let zone = #"{"zoneID":{"zoneName":"Bench","ownerRecordName":"\#(Self.owner)"}}"#
            let answer =
                #"{"zones":[\#(request.syncToken == nil ? zone : "")],"#
                + #""syncToken":"1","moreComing":false}"#
            return try readWire(E.Answer.self, from: Array(answer.utf8))
        case is SubscriptionsModify.Request:
            let answer = #"{"subscriptions":[]}"#
            return try readWire(E.Answer.self, from: Array(answer.utf8))
        default:
            let answer = #"{"userRecordName":"\#(Self.owner)"}"#
            return try readWire(E.Answer.self, from: Array(answer.utf8))
        }
    }

    private func bytes(of page: Int) throws -> [UInt8] {
        let count = offsets[page + 1] - offsets[page]
        return try [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            filled = pread(file.fileDescriptor, buffer.baseAddress, count, off_t(offsets[page]))
            guard filled == count else { throw CocoaError(.fileReadUnknown) }
        }
    }

    func nextNotification(
        at webcourierURL: String, timeoutSeconds: Double
    ) async throws -> NotificationPayload? { nil }
}
