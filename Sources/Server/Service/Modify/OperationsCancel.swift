import StratusRecords
import StratusStorage
import StratusWire

extension OperationsCancel: ServedEndpoint {
    public static let rules = EndpointRules<Self>(
        access: .user, effect: .idempotent, isCompressed: false,
        // A row or two for each, which stay for a week.
        cost: { Double($0.operationIDs.count * max(1, $0.ownerRecordNames?.count ?? 0)) },
        zones: { _ in [] }, link: { _, _ in })

    /// For private and shared databases: clients of a public one have no cache there that decides by what it fetched.
    ///
    /// An operation that was carried out keeps its answer. One that was not gets an idempotency record that refuses
    /// it, in every database whose records or zones it may name, for as long as answers are kept.
    public static func answer(_ call: EndpointCall<Self>) async throws -> Answer {
        let (request, context) = (call.request, call.context)
        let owners = Set(request.ownerRecordNames ?? [])
        guard request.operationIDs.count <= maximumCount else {
            throw ServiceError.overLimit(
                "The request cancels more than \(maximumCount) operations; divide it.")
        }
        try context.checkCount(owners.count)
        guard context.scope != .public else {
            throw ServiceError.wrongDatabase(
                "The public database has no operations to cancel; name the private or shared database."
            )
        }
        guard let address = try context.databaseAddress() else {
            try await cancelShared(
                request.operationIDs, of: owners, in: context, call.components.databases)
            return Answer()
        }
        try await call.components.databases.store(for: address).write { writer in
            try IdempotencyRecord.cancel(
                request.operationIDs, prefixes: [recordsPrefix, ZonesModify.prefix], in: writer,
                context)
        }
        return Answer()
    }

    /// Records are in the databases of their zones' owners; that the caller leaves a zone is noted in the caller's own.
    private static func cancelShared(
        _ operationIDs: [String], of owners: Set<String>, in context: RequestContext,
        _ databases: Databases
    ) async throws {
        let database = try await SharedDatabase(context, databases)
        try await database.own.write { writer in
            try IdempotencyRecord.cancel(
                operationIDs, prefixes: [ZonesModify.sharedPrefix], in: writer, context)
        }
        let zones = try await database.zones().filter { owners.contains($0.owner) }
        for owner in Set(zones.map(\.owner)).sorted() {
            let view = context.viewing(owner)
            let names = zones.filter { $0.owner == owner }.map(\.name)
            try await database.store(of: owner).write { writer in
                // A caller who cannot change anything there adds no rows there.
                let canWrite = try names.contains {
                    try view.livingZone(named: $0, writer)?.rights.canWriteSomewhere ?? false
                }
                guard canWrite else { return }
                try IdempotencyRecord.cancel(
                    operationIDs, prefixes: [recordsPrefix], in: writer, view)
            }
        }
    }

    /// Identifiers of records/modify requests are kept as they are.
    private static let recordsPrefix = ""
}
