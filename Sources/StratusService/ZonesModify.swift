import StratusRecords
import StratusStorage
import StratusWire

extension ZonesModify: ServedEndpoint {
    public static let access = EndpointAccess.user

    /// Creating a zone that is there and deleting one that is not are successes: what was asked for
    /// is the case. Custom zones exist in private databases only.
    public static func answer(
        _ request: Request, in context: RequestContext
    ) async throws -> Answer {
        if context.isSharedDatabase { return try await sharedAnswer(request, in: context) }
        guard context.scope == .private, let address = try context.databaseAddress() else {
            throw ServiceError.wrongDatabase("Custom zones exist in the private database only.")
        }
        try context.checkCount(request.operations.count)
        let names = request.operations.map { context.zoneName($0.zoneID) }
        guard Set(names.compactMap { $0 }).count == names.compactMap({ $0 }).count else {
            throw ServiceError.invalid("Name a zone in one operation of a request only.")
        }
        let service = context.service
        let seal = try await service.seal()
        let now = service.settings.nowMilliseconds()
        let store = try await service.store(for: address)
        let told = service.notifications.told(of: address)
        let summary = try await service.subscriptions.summary(of: store)
        let repetition = try OperationOutcome.Repetition(
            request.operationID, in: context, prefix: "zones/")
        let answer = try await store.write { writer in
            try told.dequeue(in: writer)
            let tokens = ChangeTokens(
                seal: seal, address: address, incarnation: try writer.incarnation,
                nowMilliseconds: now)
            if let repetition, let bytes = try writer.outcome(of: repetition.key) {
                return Answer(
                    zones: try ZonesOutcome(bytes: bytes)
                        .replay(request, names, in: writer, context, tokens))
            }
            let changes = ZoneChanges(
                writer: writer, context: context, newsIsWanted: summary.wantsNews)
            let results = try zip(request.operations, names).map { operation, name in
                do {
                    guard let name else { throw ServiceError.zoneNotFound }
                    return ZoneResult.zone(
                        try changes.apply(operation.kind, to: name, tokens: tokens))
                } catch let error as ServiceError {
                    return .failure(ZoneFailure(zoneID: operation.zoneID, error: error))
                }
            }
            if results.contains(where: { if case .zone = $0 { true } else { false } }) {
                try repetition?.keep(ZonesOutcome(results).bytes, in: writer, nowMilliseconds: now)
            }
            return Answer(zones: results)
        }
        service.notifications.tell(store)
        return answer
    }
}

/// Creates and deletes zones inside one transaction.
private struct ZoneChanges {
    let writer: any StoreWriter
    let context: RequestContext
    let newsIsWanted: Bool

    func apply(
        _ kind: ZonesModify.Operation.Kind, to name: String, tokens: ChangeTokens
    ) throws -> ZoneDictionary {
        switch kind {
        case .create:
            return ZoneDictionary(try create(name), in: context, tokens: tokens)
        case .delete:
            try delete(name)
            return ZoneDictionary(zoneID: context.zoneID(name), isDeleted: true)
        }
    }

    private func create(_ name: String) throws -> ZoneRow {
        if let zone = try writer.livingZone(named: name) { return zone }
        guard Names.isZoneName(name) else {
            throw ServiceError.invalid(
                "A zone's name has 1 to 255 ASCII characters and no leading underscore.")
        }
        guard try writer.zones().count < context.limits.zonesPerDatabase else {
            throw ServiceError.overLimit("Delete zones before creating more.")
        }
        let zone = try writer.createZone(named: name, hasFeed: true)
        try report(.zoneCreated, name)
        return zone
    }

    private func delete(_ name: String) throws {
        guard name != ZoneID.defaultZoneName else {
            throw ServiceError.invalid("The default zone cannot be deleted.")
        }
        guard let zone = try writer.livingZone(named: name) else { return }
        let shareNews = try ShareNews(
            endOf: zone, user: context.user(), device: context.caller.device, writer)
        if let shareNews { try writer.enqueue(shareNews.bytes) }
        try writer.deleteZone(zone.key, reason: .deleted)
        try report(.zoneDeleted, name)
    }

    private func report(_ subject: News.Subject, _ name: String) throws {
        guard newsIsWanted else { return }
        let news = News(
            zoneName: name, user: try context.user(), device: context.caller.device, changes: [],
            subject: subject)
        try writer.enqueue(news.bytes)
    }
}
