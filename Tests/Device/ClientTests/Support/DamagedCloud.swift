import Foundation
import StratusClient
import StratusRecords
import StratusWire
import Synchronization

/// A service that damages one of its answers, read as `HTTPTransport` reads it.
final class DamagedCloud: Transport {
    private let path: String
    private let damaged: DamagedAnswer
    private let requestCount = Mutex(0)

    /// The service fails after this many requests, so that the pages that a damaged answer promises are not requested
    /// forever.
    private static let maximumRequestCount = 40

    init(_ damaged: DamagedAnswer, at path: String) {
        self.damaged = damaged
        self.path = path
    }

    var shareLinkOrigin: String { "http://127.0.0.1:1" }

    func send<E: Endpoint>(
        _ endpoint: E.Type, _ request: E.Request, to target: RequestTarget, timeoutSeconds: Double
    ) async throws -> E.Answer {
        var path = E.path
        if let lookup = request as? RecordsLookup.Request,
            lookup.records.first?.recordName == "stratus-keyring"
        {
            path = "keyring"
        }
        return try answer(path) { try readWire(E.Answer.self, from: $0) }
    }

    func nextNotification(
        at webcourierURL: String, timeoutSeconds: Double
    ) async throws -> NotificationPayload? {
        try answer("courier") { try NotificationPayload.read(from: $0) }
    }

    func upload(
        _ asset: AssetUpload, to url: String, timeoutSeconds: Double
    ) async throws -> AssetReceipt {
        try answer("upload") { try readWire(AssetsUpload.Uploaded.self, from: $0) }.singleFile
    }

    func download(
        from url: String, timeoutSeconds: Double,
        receive: @escaping @Sendable ([UInt8]) async throws -> Void
    ) async throws {
        try await receive([1, 2, 3])
    }

    private func answer<Value>(
        _ path: String, _ read: (UnsafeRawBufferPointer) throws -> Value
    ) throws -> Value {
        let count = requestCount.withLock { count in
            count += 1
            return count
        }
        guard count <= Self.maximumRequestCount else {
            throw TransportError(.refused, "The test has had enough.")
        }
        guard path == self.path else {
            let answer = AnswerSeeds.byPath[path] ?? "{}"
            return try Array(answer.utf8).withUnsafeBytes(read)
        }
        if damaged.isRefusal { try refuse() }
        do {
            return try damaged.bytes.withUnsafeBytes(read)
        } catch {
            throw TransportError(.answerUnreadable, "The answer is damaged.", cause: error)
        }
    }

    private func refuse() throws {
        let body: ErrorBody
        do {
            body = try readWire(ErrorBody.self, from: damaged.bytes)
        } catch {
            throw TransportError(
                .answerUnreadable, "The refusal is damaged.", httpStatus: 500, cause: error)
        }
        throw ServiceFailure(body.error, uuid: body.uuid, records: body.records)
    }
}

extension AnswerSeeds {
    /// The undamaged answers by the end of their endpoint's path.
    static let byPath = [
        "assets/upload": assetTokens, "upload": receipt, "changes/database": databaseChanges,
        "changes/zone": zoneChanges, "records/accept": accept, "records/lookup": lookup,
        "records/modify": modify, "records/query": query,
        "records/requestaccess": requestAccess, "records/resolve": resolve,
        "subscriptions/list": subscriptionsList, "subscriptions/lookup": subscriptions,
        "subscriptions/modify": subscriptions, "tokens/create": pushToken, "users/caller": caller,
        "users/discover": discover, "users/permission": permission,
        "zones/list": zonesList, "zones/lookup": zones, "zones/modify": zones,
        "courier": notification, "keyring": keyring,
    ]

    private static let keyring = #"""
        {"records":[{"recordName":"stratus-keyring","recordType":"StratusKeyring",
        "recordChangeTag":"1","fields":{"identifier":{"value":"AQIDBAUGBwgJCgsMDQ4PEA==",
        "type":"BYTES"},"sealed":{"value":"AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA=",
        "type":"BYTES"}}}]}
        """#
}
