import Logging
import StratusQuery
import StratusRecords
import StratusRuntime
import StratusSchema
import StratusStorage
import StratusWire

/// Saves and deletes records.
///
/// Where it is decided:
/// - conflicts, and whether a record may be created or written: `refusal(of:old:)` in
///   ModifyDecisions.swift, by `RecordAccess`; what a participant may: `sharingRefusal(of:old:)` in
///   ModifyDecisions+Sharing.swift, by `ZoneRights`;
/// - what fails with others, in atomic zones and by references:
///   `ModifyDecisions.decideTogether(isAtomic:reader:)`;
/// - how large a batch may be: `answer(_:)` here counts operations, `ModifyPlanning` fields and
///   bytes of a record, `ModifyPlan` the bytes of the named ones, `Quota` what the database may hold.
///
/// Three steps: everything that needs no transaction is checked and encoded first (`ModifyPlan`); the transaction reads
/// the named rows, decides every operation in memory (`ModifyTransaction`) and writes the accepted ones
/// (`RecordWriter`); then the subscribers are notified (`Notifications`).
///
/// Atomicity: in a custom zone one failure undoes the zone's other operations. When the request is about
/// that zone alone, it fails as a whole (HTTP 400 with one result per operation); when it is about
/// several zones, the answer has the failed zone's errors beside the other zones' results. The default
/// zone is never atomic. A missing zone is no atomic failure: each of its operations fails with
/// ZONE_NOT_FOUND.
extension RecordsModify: ServedEndpoint {
    public static let rules = EndpointRules<Self>(
        access: .user, effect: .idempotent, isCompressed: true,
        cost: { Double($0.operations.count) / 40 },
        zones: { request in
            Set(request.operations.map { ($0.record.zoneID ?? request.zoneID).zoneName })
        },
        link: { $1.link(&$0.records) })

    public static func answer(_ call: EndpointCall<Self>) async throws -> Answer {
        try call.context.checkCount(call.request.operations.count)
        try call.context.checkNames(call.request.desiredKeys)
        for operation in call.request.operations {
            try call.context.checkNames(operation.desiredKeys)
        }
        let (databases, stores) = (call.components.databases, call.components.savingRecords)
        guard let store = try await databases.store(of: call.context) else {
            return try await sharedAnswer(
                call.request, in: call.context, databases, stores,
                try await call.components.tokenSigner(), call.components.errors)
        }
        return try await answer(
            call.request, in: call.context, store, stores, try await call.components.tokenSigner())
    }

    /// - Parameter store: The database of the request, of one owner.
    static func answer(
        _ request: Request, in context: RequestContext, _ store: any RecordStore,
        _ stores: Stores, _ signer: TokenSigner
    ) async throws -> Answer {
        try await UsersRecord.makeIfNeeded(
            named: request.operations.compactMap(\.record.recordName), in: context, store: store,
            stores.longChanges.records)
        let plan = try await ModifyPlan.make(
            request, in: context, store, stores.schemas, stores.directory, signer, stores.world)
        try await stores.indexes.prepare(
            plan.recordTypes, of: stores.schemas.schema(of: context.address), in: store)
        let transaction = ModifyTransaction(
            request: request, plan: plan, context: context,
            nowMilliseconds: context.nowMilliseconds, world: stores.world, logger: stores.logger,
            signer: signer)
        try await plan.registerShortGUIDs(in: context, stores.directory)
        let outcome: ModifyOutcome
        do {
            outcome = try await transaction.run(on: store, stores.longChanges)
        } catch let error as ServiceError {
            // Refused before the commit, so no share has the links.
            await SharingOutcome(unusedShortGUIDs: plan.shortGUIDs)
                .forgetShortGUIDs(stores.directory, stores.logger)
            throw error
        }
        context.work.add(recordsRead: outcome.carriedRead)
        context.work.add(recordsWritten: outcome.carriedWritten)
        if outcome.hasLongChange { await stores.longChanges.begin(store) }
        await outcome.sharing.forgetShortGUIDs(stores.directory, stores.logger)
        stores.tombstones.considerPurging(
            store, nowMilliseconds: transaction.nowMilliseconds,
            deletions: outcome.deletions)
        if let failure = outcome.failure { throw failure }
        return outcome.answer
    }
}

extension RecordsModify {
    /// Each owner's part is a request of its own. A request about one owner only succeeds or fails as a whole, like one
    /// in the private database.
    private static func sharedAnswer(
        _ request: Request, in context: RequestContext, _ databases: Databases,
        _ stores: Stores, _ signer: TokenSigner, _ errors: ErrorTranslation
    ) async throws -> Answer {
        let database = try await SharedDatabase(context, databases)
        let zoneIDs = request.operations.map { $0.record.zoneID ?? request.zoneID }
        let isOneOwners = Set(zoneIDs.map { $0?.ownerRecordName }).count == 1
        func refused(_ operation: Operation, _ error: ServiceError) -> RecordResult {
            .failure(
                RecordFailure(
                    recordName: operation.record.recordName
                        ?? (operation.kind == .create ? stores.world.newUUID() : nil),
                    zoneID: operation.record.zoneID ?? request.zoneID, error: error))
        }
        var syncToken: String?
        let results = try await database.answers(
            request.operations, zoneID: { $0.record.zoneID ?? request.zoneID }, refused: refused,
            from: { view, operations in
                var part = request
                part.operations = operations
                do {
                    guard let store = try await databases.store(of: view) else { return [] }
                    let answer = try await answer(part, in: view, store, stores, signer)
                    syncToken = syncToken ?? answer.syncToken
                    return answer.records
                } catch  where !isOneOwners {
                    // The other owners' parts succeeded: only these operations get the error.
                    let failure = errors.failure(from: error)
                    return failure.records ?? operations.map { refused($0, failure.error) }
                }
            })
        return Answer(records: results, syncToken: syncToken)
    }
}

extension RecordsModify {
    /// What saving records in one database needs.
    struct Stores: Sendable {
        let schemas: SchemaCache
        let indexes: IndexManager
        let longChanges: LongChanges
        let tombstones: TombstonePurge
        let directory: any Directory
        /// Makes new names.
        let world: World
        let logger: Logger
    }
}
