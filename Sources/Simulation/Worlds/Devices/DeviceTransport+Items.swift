import StratusClient
import StratusRecords
import StratusWire

/// Requests of which the service refuses one item and serves the others.
extension DeviceTransport {
    /// Serves a request without one of its items, which is refused.
    ///
    /// - Returns: nil if the request has no items.
    func answerWithoutOneItem<Request: Sendable>(
        _ request: Request, _ code: FrameworkErrorCode, to target: RequestTarget,
        _ timeout: Double
    ) async throws -> (any Sendable)? {
        let error = Self.error(code)
        switch request {
        case let request as RecordsModify.Request:
            guard !request.operations.isEmpty else { return nil }
            let place = Int(dice.milliseconds(below: UInt64(request.operations.count)))
            return try await answer(
                RecordsModify.self, request, without: place, \.operations, \.records, to: target,
                timeout
            ) {
                .failure(
                    RecordFailure(
                        recordName: $0.record.recordName, zoneID: $0.record.zoneID, error: error))
            }
        case let request as RecordsLookup.Request:
            guard let place = dice.place(in: request.records.count) else { return nil }
            return try await answer(
                RecordsLookup.self, request, without: place, \.records, \.records, to: target,
                timeout
            ) {
                .failure(
                    RecordFailure(recordName: $0.recordName, zoneID: $0.zoneID, error: error))
            }
        case let request as ZonesModify.Request:
            guard let place = dice.place(in: request.operations.count) else { return nil }
            return try await answer(
                ZonesModify.self, request, without: place, \.operations, \.items, to: target,
                timeout
            ) {
                .failure(ZoneFailure(zoneID: $0.zoneID, error: error))
            }
        case let request as ChangesZone.Request:
            guard let place = dice.place(in: request.zones.count) else { return nil }
            return try await answer(
                ChangesZone.self, request, without: place, \.zones, \.items, to: target, timeout
            ) {
                .failure(ZoneFailure(zoneID: $0.zoneID, error: error))
            }
        default: return try await answerWithoutOneOther(request, error, to: target, timeout)
        }
    }

    private func answerWithoutOneOther<Request: Sendable>(
        _ request: Request, _ error: ServiceError, to target: RequestTarget, _ timeout: Double
    ) async throws -> (any Sendable)? {
        switch request {
        case let request as AssetsUpload.Request:
            guard let place = dice.place(in: request.tokens.count) else { return nil }
            return try await answer(
                AssetsUpload.self, request, without: place, \.tokens, \.items, to: target, timeout
            ) {
                .failure(
                    AssetFailure(
                        recordName: $0.recordName, fieldName: $0.fieldName, error: error))
            }
        case let request as SubscriptionsModify.Request:
            guard let place = dice.place(in: request.items.count) else { return nil }
            return try await answer(
                SubscriptionsModify.self, request, without: place, \.items, \.items, to: target,
                timeout
            ) {
                .failure(subscriptionID: $0.subscription.subscriptionID, error)
            }
        default: return nil
        }
    }

    private func answer<E: Endpoint, Item, Outcome>(
        _ endpoint: E.Type, _ request: E.Request, without place: Int,
        _ items: WritableKeyPath<E.Request, [Item]>,
        _ outcomes: WritableKeyPath<E.Answer, [Outcome]>, to target: RequestTarget,
        _ timeout: Double, refusal: (Item) -> Outcome
    ) async throws -> E.Answer where E.Answer: WireObject {
        var others = request
        let refused = refusal(others[keyPath: items].remove(at: place))
        var answer = E.Answer()
        if !others[keyPath: items].isEmpty {
            answer = try await forward(endpoint, others, to: target, timeout)
        }
        answer[keyPath: outcomes].insert(refused, at: place)
        return answer
    }
}
