import StratusRecords
import StratusStorage
import StratusWire

extension RecordsLookup: ServedEndpoint {
    public static let access = EndpointAccess.read

    public static func answer(
        _ request: Request, in context: RequestContext
    ) async throws -> Answer {
        try context.checkCount(request.records.count)
        try context.checkNames(request.desiredKeys)
        for item in request.records { try context.checkNames(item.desiredKeys) }
        guard let store = try await context.store() else {
            return Answer(
                records: request.records.map {
                    .failure(
                        RecordFailure(
                            recordName: $0.recordName, zoneID: $0.zoneID ?? request.zoneID,
                            error: .zoneNotFound))
                })
        }
        let access =
            context.scope == .public
            ? context.recordAccess(
                try await context.service.schemas.schema(of: context.address)) : .unrestricted
        let seal = try await context.tokenSeal()
        return try await store.read { reader in
            var answer = try Self.answer(request, in: context, access: access, reader: reader)
            answer.syncToken = try context.currentToken(of: request.zoneID, in: reader, seal: seal)
            return answer
        }
    }

    private static func answer(
        _ request: Request, in context: RequestContext, access: RecordAccess,
        reader: any StoreReader
    ) throws -> Answer {
        let zoneNames = request.records.map { context.zoneName($0.zoneID ?? request.zoneID) }
        var rows: [String: [String: RecordRow]] = [:]
        var objections: [String: ServiceError] = [:]
        for zoneName in Set(zoneNames.compactMap { $0 }) {
            let zone: ZoneRow
            do {
                zone = try reader.existingZone(named: zoneName)
            } catch let error as ServiceError {
                objections[zoneName] = error
                continue
            }
            let names = zip(request.records, zoneNames).lazy
                .filter { $1 == zoneName }.map { $0.0.recordName }
            rows[zoneName] = try reader.records(named: Array(Set(names)), in: zone.key)
        }
        return Answer(
            records: try zip(request.records, zoneNames).map { item, zoneName in
                guard let zoneName, let zoneRows = rows[zoneName] else {
                    return .failure(
                        RecordFailure(
                            recordName: item.recordName, zoneID: item.zoneID ?? request.zoneID,
                            error: zoneName.flatMap { objections[$0] } ?? .zoneNotFound))
                }
                let zoneID = context.zoneID(zoneName)
                guard let row = zoneRows[item.recordName], !row.isDeleted else {
                    return .failure(
                        RecordFailure(
                            recordName: item.recordName, zoneID: zoneID, error: .recordNotFound))
                }
                guard access[row.type].mayRead(row) else {
                    return .failure(
                        RecordFailure(
                            recordName: item.recordName, zoneID: zoneID, error: .readNotPermitted))
                }
                return .record(
                    try RecordDictionary(
                        row, in: zoneID, keys: item.desiredKeys ?? request.desiredKeys,
                        numbersAsStrings: request.numbersAsStrings))
            })
    }
}
