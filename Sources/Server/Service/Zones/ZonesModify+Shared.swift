import Algorithms
import StratusRecords
import StratusStorage
import StratusWire

extension ZonesModify {
    /// Deleting a zone in the shared database leaves all of its shares. Only owners create zones.
    static func sharedAnswer(
        _ request: Request, in context: RequestContext, _ databases: Databases,
        _ stores: RecordsModify.Stores, _ signer: TokenSigner
    ) async throws -> Answer {
        guard request.operations.allSatisfy({ $0.kind == .delete }) else {
            throw ServiceError.wrongDatabase(
                "Zones cannot be created in the shared database; create them in the private one.")
        }
        let database = try await SharedDatabase(context, databases)
        // Kept in the caller's own database, after the owners' were changed: if a crash comes between, the repeated
        // request tries to leave again.
        let idempotencyRecord = try IdempotencyRecord(
            request.operationID, of: request.repeatableOperations(in: context), in: context,
            prefix: sharedPrefix)
        var kept: [ZoneIDDictionary: ZoneResult] = [:]
        if let idempotencyRecord,
            let outcome = try await database.own.read({ try idempotencyRecord.outcome(in: $0) })
        {
            kept = try ZonesOutcome(outcome, count: request.operations.count)
                .keptResults(request) { gone($0.zoneID, in: context) }
            if kept.count == request.operations.count {
                let results = request.operations.compactMap { kept[$0.zoneID] }
                return Answer(try await addingDatabaseToken(results, in: database, signer))
            }
        }
        let results: [ZoneResult] = try await database.answers(
            request.operations, zoneID: { $0.zoneID },
            // Not in the zone anyway: what was asked for is already the case.
            refused: { operation, error in
                if let result = kept[operation.zoneID] { return result }
                return error.code == .zoneNotFound
                    ? .success(gone(operation.zoneID, in: context))
                    : .failure(ZoneFailure(zoneID: operation.zoneID, error: error))
            },
            from: { view, operations in
                var results: [ZoneResult] = []
                for operation in operations {
                    if let result = kept[operation.zoneID] {
                        results.append(result)
                        continue
                    }
                    do {
                        try await leave(operation.zoneID, in: view, databases, stores, signer)
                        results.append(.success(gone(operation.zoneID, in: context)))
                    } catch let error as ServiceError {
                        results.append(
                            .failure(ZoneFailure(zoneID: operation.zoneID, error: error)))
                    }
                }
                return results
            })
        let now = context.nowMilliseconds
        if let idempotencyRecord,
            results.contains(where: { if case .success = $0 { true } else { false } })
        {
            try await database.own.write { writer in
                try idempotencyRecord.keep(
                    ZonesOutcome(results).bytes, in: writer, nowMilliseconds: now)
            }
        }
        return Answer(try await addingDatabaseToken(results, in: database, signer))
    }

    /// Adds the token that the caller's shared database has without the zones that were left: with it, the caller's
    /// device detects that a restore has undone the leaving.
    private static func addingDatabaseToken(
        _ results: [ZoneResult], in database: SharedDatabase, _ signer: TokenSigner
    ) async throws -> [ZoneResult] {
        guard database.context.caller.wantsExtensions else { return results }
        let version = try await database.changes(after: .max).version
        let token = try await database.own.read { reader in
            try database.tokens(signer, reader).databaseToken(cursor: version)
        }
        return results.map { result in
            result.map { zone in
                var zone = zone
                zone.databaseSyncToken = token
                return zone
            }
        }
    }

    /// A zone in which the caller has no access, and perhaps never had.
    private static func gone(
        _ zoneID: ZoneIDDictionary, in context: RequestContext
    ) -> ZoneDictionary {
        let view = zoneID.ownerRecordName.map(context.viewing) ?? context
        return ZoneDictionary(
            zoneID: view.zoneName(zoneID).map(view.zoneID) ?? zoneID, isDeleted: true)
    }

    /// Leaves the shares of a zone one by one, in the same way as deleting their records.
    ///
    /// - Throws: ``ServiceError`` when one of them could not be left.
    private static func leave(
        _ zoneID: ZoneIDDictionary, in view: RequestContext, _ databases: Databases,
        _ stores: RecordsModify.Stores, _ signer: TokenSigner
    ) async throws {
        guard let name = view.zoneName(zoneID),
            let store = try await databases.store(of: view)
        else { return }
        let user = try view.user()
        let shares = try await store.read { reader -> [String] in
            guard let zone = try reader.livingZone(named: name) else { return [] }
            return try reader.access(of: user, in: zone.key).map(\.share)
        }
        for names in shares.chunks(ofCount: view.limits.operationsPerRequest) {
            let operations = names.map {
                RecordsModify.Operation(.forceDelete, RecordDictionary(recordName: $0))
            }
            let answer = try await RecordsModify.answer(
                .init(operations: operations, zoneID: zoneID, isAtomic: false), in: view, store,
                stores, signer)
            // If the share or all access ended in the meantime, what was asked for is the case.
            for case .failure(let failure) in answer.records
            where failure.error.code != .notFound && failure.error.code != .zoneNotFound {
                throw failure.error
            }
        }
    }
}
