import StratusRecords
import StratusStorage
import StratusWire

extension ZonesModify: ServedEndpoint {
    public static let access = EndpointAccess.user
    public static let endsSession = false
    public static let expiredTokens = ExpiredTokens<Self>.none

    public static func cost(of request: Request) -> Double { Double(request.operations.count) / 10 }
    public static func zoneNames(in request: Request) -> Set<String> {
        Set(request.operations.map(\.zoneID.zoneName))
    }
    public static func link(_ answer: inout Answer, _ links: inout AssetLinks) {}

    /// Creating a zone that is there and deleting one that is not are successes: what was asked for
    /// is the case. Custom zones exist in private databases only.
    public static func answer(
        _ request: Request, in context: RequestContext, with components: ServiceComponents
    ) async throws -> Answer {
        try context.checkCount(request.operations.count)
        guard
            Set(request.operations.map { context.identity($0.zoneID) }).count
                == request.operations.count
        else {
            throw ServiceError.invalid("Name a zone in one operation of a request only.")
        }
        if context.isSharedDatabase {
            return try await sharedAnswer(
                request, in: context, components.databases, RecordsModify.Stores(components))
        }
        guard context.scope == .private, let address = try context.databaseAddress() else {
            throw ServiceError.wrongDatabase("Custom zones exist in the private database only.")
        }
        let signer = try await components.tokenSigner()
        let now = context.nowMilliseconds
        let store = try await components.databases.store(for: address)
        let outbox = components.notifications.cursor(of: address)
        let summary = try await components.subscriptions.summary(of: store)
        let idempotency = try IdempotencyRecord(
            request.operationID, of: request.repeatableOperations(in: context), in: context,
            prefix: "zones/")
        let answer = try await store.write { writer in
            try outbox.dequeue(in: writer)
            let tokens = ChangeTokens(
                signer: signer, address: address, incarnation: try writer.incarnation,
                nowMilliseconds: now)
            if let outcome = try idempotency?.outcome(in: writer) {
                return Answer(
                    try ZonesOutcome(outcome, count: request.operations.count)
                        .replay(request) { try current($0, in: writer, context, tokens) })
            }
            let changes = ZoneChanges(
                writer: writer, context: context, eventsAreWanted: summary.wantsEvents)
            let results = try request.operations.map { operation in
                do {
                    guard let name = context.zoneName(operation.zoneID) else {
                        throw ServiceError.zoneNotFound
                    }
                    return ZoneResult.success(
                        try changes.apply(operation, to: name, tokens: tokens))
                } catch let error as ServiceError {
                    return .failure(ZoneFailure(zoneID: operation.zoneID, error: error))
                }
            }
            if results.contains(where: { if case .success = $0 { true } else { false } }) {
                try idempotency?.keep(ZonesOutcome(results).bytes, in: writer, nowMilliseconds: now)
            }
            return Answer(results)
        }
        components.notifications.dispatch(store)
        return answer
    }

    /// A zone after an operation that is repeated; nil when it was created, and deleted since.
    private static func current(
        _ operation: Operation, in reader: any StoreReader, _ context: RequestContext,
        _ tokens: ChangeTokens
    ) throws -> ZoneDictionary? {
        guard let name = context.zoneName(operation.zoneID) else { return nil }
        if operation.kind == .delete {
            return ZoneDictionary(zoneID: context.zoneID(name), isDeleted: true)
        }
        return try reader.livingZone(named: name)
            .map { ZoneDictionary($0, in: context, tokens: tokens) }
    }
}

extension ZonesModify.Request {
    /// What the request does to which zones.
    func repeatableOperations(in context: RequestContext) -> [IdempotencyRecord.Operation] {
        operations.map { operation in
            let zoneID = context.identity(operation.zoneID)
            // As it was always said of the zones that say nothing.
            let scope = operation.encryptionScope == .perZone ? " PER_ZONE" : ""
            return IdempotencyRecord.Operation(
                kind: operation.kind.rawValue + scope, zoneName: zoneID.zoneName,
                zoneOwner: zoneID.ownerRecordName)
        }
    }
}

extension RequestContext {
    /// A zone as it is the same however it is named: the caller as its owner is left out.
    fileprivate func identity(_ zoneID: ZoneIDDictionary) -> ZoneIDDictionary {
        ZoneIDDictionary(
            zoneName: zoneID.zoneName,
            ownerRecordName: isOwner(zoneID.ownerRecordName) ? nil : zoneID.ownerRecordName)
    }
}

/// Creates and deletes zones inside one transaction.
private struct ZoneChanges {
    let writer: any StoreWriter
    let context: RequestContext
    let eventsAreWanted: Bool

    func apply(
        _ operation: ZonesModify.Operation, to name: String, tokens: ChangeTokens
    ) throws -> ZoneDictionary {
        switch operation.kind {
        case .create:
            let scope = operation.encryptionScope ?? .perRecord
            return ZoneDictionary(try create(name, scope), in: context, tokens: tokens)
        case .delete:
            try delete(name)
            return ZoneDictionary(zoneID: context.zoneID(name), isDeleted: true)
        }
    }

    /// Apple's page of the scope: who says another one than the zone has, or says nothing because he
    /// knows no scopes, is refused.
    private func create(_ name: String, _ scope: ZoneEncryptionScope) throws -> ZoneRow {
        if let zone = try writer.livingZone(named: name) {
            guard zone.encryptionScope == scope else { throw ServiceError.encryptionScopeStays }
            return zone
        }
        guard Names.isZoneName(name) else {
            throw ServiceError.invalid(
                "A zone's name has 1 to 255 ASCII characters and no leading underscore.")
        }
        guard try writer.zones().count < context.limits.zonesPerDatabase else {
            throw ServiceError.overLimit("Delete zones before creating more.")
        }
        let zone = try writer.createZone(named: name, hasFeed: true, encryptionScope: scope)
        try report(.zoneCreated, name)
        return zone
    }

    private func delete(_ name: String) throws {
        guard name != ZoneID.defaultZoneName else {
            throw ServiceError.invalid("The default zone cannot be deleted.")
        }
        guard let zone = try writer.livingZone(named: name) else { return }
        let shareEvents = try ShareEvent(
            endOf: zone, user: context.user(), device: context.caller.device, writer)
        if let shareEvents { try writer.enqueue(shareEvents.bytes) }
        try writer.deleteZone(zone.key, reason: .deleted)
        try report(.zoneDeleted, name)
    }

    private func report(_ subject: OutboxEvent.Subject, _ name: String) throws {
        guard eventsAreWanted else { return }
        let event = OutboxEvent(
            zoneName: name, user: try context.user(), device: context.caller.device, changes: [],
            subject: subject)
        try writer.enqueue(event.bytes)
    }
}
