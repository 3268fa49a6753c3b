import StratusRecords
import StratusWire

extension CloudConnection {
    /// Whether the service is Apple's own.
    package var isAppleService: Bool { (transport as? HTTPTransport)?.isAppleService ?? false }
}

/// Requests without Stratus's extensions, as Apple's pages document them: for one zone each, and
/// without the identifier that makes a repeated request idempotent.
extension HTTPTransport {
    static let applesOrigin = "https://api.apple-cloudkit.com"

    /// Whether requests go to Apple's own service.
    package var isAppleService: Bool { origin == Self.applesOrigin }

    /// Sends a request in the documented form where Stratus's own form differs.
    ///
    /// - Returns: nil for requests that have one form only.
    func documentedAnswer<E: Endpoint>(
        to request: E.Request, of endpoint: E.Type, at target: RequestTarget,
        _ timeoutSeconds: Double
    ) async throws -> E.Answer? {
        if endpoint is RecordsRequestAccess.Type { throw Self.undocumented("requests for access") }
        switch request {
        case let request as RecordsModify.Request:
            let shares = request.operations.compactMap(\.record.share)
            if shares.contains(where: \.saysOfAccessRequests) {
                throw Self.undocumented("requests for access")
            }
            return try await modify(request, target, timeoutSeconds) as? E.Answer
        case let request as RecordsLookup.Request:
            return try await lookUp(request, target, timeoutSeconds) as? E.Answer
        case var request as ZonesModify.Request:
            if request.operations.contains(where: { $0.encryptionScope != nil }) {
                throw Self.undocumented("a zone's encryption scope")
            }
            request.operationID = nil
            for index in request.operations.indices { request.operations[index].generation = nil }
            return try await sendWhole(ZonesModify.self, request, target, timeoutSeconds)
                as? E.Answer
        default:
            return nil
        }
    }

    /// The failure of a feature that Apple's pages document for the framework but not for the
    /// protocol. Leaving it out would do something other than what the app requested.
    private static func undocumented(_ feature: String) -> ServiceFailure {
        ServiceFailure(
            ServiceError(
                .badRequest,
                "Apple's documented protocol does not have \(feature); leave it out, or use a Stratus"
                    + " service.",
                frameworkCode: .serverRejectedRequest))
    }

    private func modify(
        _ request: RecordsModify.Request, _ target: RequestTarget, _ timeoutSeconds: Double
    ) async throws -> RecordsModify.Answer {
        let groups = Dictionary(grouping: request.operations.indices) { index in
            request.operations[index].record.zoneID ?? request.zoneID
        }
        let results = try await byZone(groups, count: request.operations.count) { zoneID, indices in
            var part = request
            part.operationID = nil
            part.zoneID = zoneID
            part.operations = try indices.map { index in
                var operation = request.operations[index]
                operation.record.fields = try operation.record.fields.inMilliseconds()
                return operation
            }
            return try await self.sendWhole(RecordsModify.self, part, target, timeoutSeconds)
                .records
        }
        return RecordsModify.Answer(records: results)
    }

    private func lookUp(
        _ request: RecordsLookup.Request, _ target: RequestTarget, _ timeoutSeconds: Double
    ) async throws -> RecordsLookup.Answer {
        let groups = Dictionary(grouping: request.records.indices) { index in
            request.records[index].zoneID ?? request.zoneID
        }
        let results = try await byZone(groups, count: request.records.count) { zoneID, indices in
            var part = request
            part.zoneID = zoneID
            part.records = indices.map { index in
                var item = request.records[index]
                item.zoneID = nil
                return item
            }
            return try await self.sendWhole(RecordsLookup.self, part, target, timeoutSeconds)
                .records
        }
        return RecordsLookup.Answer(records: results)
    }

    /// Makes one request per zone, and returns the results in the request's order.
    ///
    /// A zone that is refused as a whole fails only its own records, so that the answers of other
    /// zones are not lost.
    private func byZone(
        _ groups: [ZoneIDDictionary?: [Int]], count: Int,
        _ ask: (ZoneIDDictionary?, [Int]) async throws -> [RecordResult]
    ) async throws -> [RecordResult] {
        var results: [RecordResult?] = Array(repeating: nil, count: count)
        let inOrder = groups.sorted { ($0.value.first ?? 0) < ($1.value.first ?? 0) }
        let changeCount = session.changeCount
        for (zoneID, indices) in inOrder {
            // The rest of a request is not sent for another account; `RequestSender` reports the
            // change.
            guard session.changeCount == changeCount else { throw CancellationError() }
            let answers: [RecordResult]
            do {
                answers = try await ask(zoneID, indices)
            } catch let failure as ServiceFailure where groups.count > 1 {
                answers =
                    failure.records.flatMap { $0.count == indices.count ? $0 : nil }
                    ?? indices.map { _ in
                        .failure(
                            RecordFailure(
                                recordName: nil, zoneID: zoneID, error: failure.error,
                                uuid: failure.uuid))
                    }
            }
            guard answers.count == indices.count else {
                throw TransportError(
                    .answerUnreadable,
                    "The service returned \(answers.count) results for \(indices.count) records; update"
                        + " it.")
            }
            for (index, answer) in zip(indices, answers) { results[index] = answer }
        }
        return results.compactMap(\.self)
    }
}

extension ShareDictionary {
    fileprivate var saysOfAccessRequests: Bool {
        allowsAccessRequests != nil || accessRequesters != nil || blockedIdentities != nil
    }
}
