import StratusRecords
import StratusStorage
import StratusWire

extension RecordsModify: ServedEndpoint {
    public static let access = EndpointAccess.user

    /// Saves and deletes records in three steps: what can be checked and encoded is, before the
    /// transaction; the transaction reads the named rows, decides every operation in memory and writes
    /// those that may be; the subscribers are told after it.
    ///
    /// Atomicity: in a custom zone one failure undoes the zone's other operations. When the request is
    /// about that zone alone, it fails as a whole (HTTP 400 with one result per operation); when it is
    /// about several zones, the answer has the failed zone's errors beside the other zones' results.
    /// The default zone is never atomic. A missing zone is no atomic failure: each of its operations
    /// fails with ZONE_NOT_FOUND.
    public static func answer(
        _ request: Request, in context: RequestContext
    ) async throws -> Answer {
        try context.checkCount(request.operations.count)
        try context.checkNames(request.desiredKeys)
        for operation in request.operations { try context.checkNames(operation.desiredKeys) }
        guard let address = try context.databaseAddress() else {
            return try await sharedAnswer(request, in: context)
        }
        let service = context.service
        let store = try await service.store(for: address)
        try await UsersRecord.makeIfNeeded(
            named: request.operations.compactMap(\.record.recordName), in: context, store: store)
        let plan = try await ModifyPlan.make(request, in: context, store: store)
        try await service.indexes.prepare(
            plan.recordTypes, of: service.schemas.schema(of: context.address), in: store)
        let summary = try await service.subscriptions.summary(of: store)
        let transaction = ModifyTransaction(
            request: request, plan: plan, context: context, summary: summary,
            told: service.notifications.told(of: address),
            nowMilliseconds: service.settings.nowMilliseconds(), seal: try await context.tokenSeal()
        )
        try await plan.registerShortGUIDs(in: context)
        let outcome = try await store.write { try transaction.run(in: $0) }
        await outcome.sharing.forgetShortGUIDs(in: context)
        service.tombstones.considerPurging(store, nowMilliseconds: transaction.nowMilliseconds)
        if outcome.hasNews { service.notifications.tell(store) }
        if let failure = outcome.failure { throw failure }
        return outcome.answer
    }
}
