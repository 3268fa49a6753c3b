import StratusRecords
import StratusStorage
import StratusWire

extension RecordsModify: ServedEndpoint {
    public static let access = EndpointAccess.user

    /// Prepares every operation before the transaction; inside it reads the rows, decides, takes the
    /// zone's next versions and writes.
    ///
    /// Atomicity is per custom zone. Where the request is about one zone only and that zone fails, the
    /// whole request fails with HTTP 400 and one result per operation, as CloudKit's does; a request
    /// about several zones is answered with each zone's own results.
    public static func answer(
        _ request: Request, in context: RequestContext
    ) async throws -> Answer {
        try context.checkCount(request.operations.count)
        let service = context.service
        let newNames = request.operations.map { $0.record.recordName ?? service.settings.newUUID() }
        let targets = try RecordTarget.targets(of: request, newNames: newNames, in: context)
        guard let address = try context.databaseAddress() else {
            let failures = targets.map { RecordResult($0, failedWith: .zoneNotFound, in: context) }
            return Answer(records: failures)
        }
        let store = try await service.store(for: address)
        let prepared = try await RecordPreparation(context: context, store: store)
            .prepare(request, targets)
        let told = service.notifications.told(of: address)
        let summary = try await service.subscriptions.summary(of: store)
        let now = service.settings.nowMilliseconds()
        let outcome = try await store.write { writer in
            try told.dequeue(in: writer)
            let repetition = try OperationOutcome.Repetition(request, in: context)
            if let repetition, let known = try writer.outcome(of: repetition.key) {
                return try OperationOutcome(bytes: known).replay(request, in: writer, context)
            }
            let saving = RecordSaving(
                writer: writer, context: context, subscriptions: summary, nowMilliseconds: now)
            let results = try saving.apply(prepared, of: request)
            if let repetition, saving.hasWritten(results) {
                let expires = now + ServiceSettings.outcomeSeconds * 1_000
                try writer.put(
                    outcome: OperationOutcome(results, targets).bytes, of: repetition.key,
                    expiresMilliseconds: expires)
            }
            return results
        }
        service.notifications.tell(store)
        try throwIfOneZoneFailed(outcome, targets, request, context)
        return Answer(records: outcome)
    }

    private static func throwIfOneZoneFailed(
        _ results: [RecordResult], _ targets: [RecordTarget], _ request: Request,
        _ context: RequestContext
    ) throws {
        guard request.isAtomic, let zone = targets.first?.zoneName,
            zone != ZoneID.defaultZoneName, targets.allSatisfy({ $0.zoneName == zone }),
            results.contains(where: { $0.failure != nil })
        else { return }
        // A zone that is missing is no failed batch: each item says that there is no such zone.
        if results.allSatisfy({ $0.failure?.code == .zoneNotFound }) { return }
        throw RequestFailure(.atomicFailure, records: results)
    }
}

/// Which record an operation is about.
struct RecordTarget: Hashable, Sendable {
    /// Nil when the caller can have no such zone.
    var zoneName: String?
    var zoneID: ZoneIDDictionary?
    var recordName: String

    /// - Throws: ``ServiceError`` when two operations are about one record: their order would decide.
    static func targets(
        of request: RecordsModify.Request, newNames: [String], in context: RequestContext
    ) throws -> [RecordTarget] {
        var seen: Set<RecordTarget> = []
        return try zip(request.operations, newNames).map { operation, name in
            let zoneID = operation.record.zoneID ?? request.zoneID
            let target = RecordTarget(
                zoneName: context.zoneName(zoneID), zoneID: zoneID, recordName: name)
            let identity = RecordTarget(zoneName: target.zoneName, recordName: name)
            guard seen.insert(identity).inserted else {
                throw ServiceError.invalid(
                    "Name each record in one operation of a request only.")
            }
            return target
        }
    }
}

extension RecordResult {
    /// The error of a failed item.
    var failure: ServiceError? {
        if case .failure(let failure) = self { failure.error } else { nil }
    }

    init(
        _ target: RecordTarget, failedWith error: ServiceError, in context: RequestContext,
        server: RecordRow? = nil
    ) {
        let zoneID = target.zoneName.map(context.zoneID) ?? target.zoneID
        var failure = RecordFailure(recordName: target.recordName, zoneID: zoneID, error: error)
        if let server, !server.isDeleted, let zoneID {
            failure.serverRecord = RecordDictionary(server, in: zoneID)
        }
        self = .failure(failure)
    }
}
