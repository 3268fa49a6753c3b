import Foundation
import StratusRecords
import StratusWire

/// The results of a request to save and delete zones.
struct ZonesModification: ItemsModification {
    var saves: [DatabaseSession.FetchedZone] = []
    var deletions: [ItemResult<CKRecordZone.ID, Void>] = []
    /// The database's change token afterwards, if the service sends it.
    var databaseToken: CKServerChangeToken?
}

extension DatabaseSession {
    typealias FetchedZone = ItemResult<CKRecordZone.ID, CKRecordZone>

    /// - Parameter generations: the generations of the zones to delete; a zone without one is deleted regardless of its
    ///   generation.
    func modifyZones(
        saving zones: [CKRecordZone], deleting zoneIDs: [CKRecordZone.ID],
        generations: [CKRecordZone.ID: Int64] = [:], operationID: String? = nil
    ) async throws -> ZonesModification {
        guard !zones.isEmpty || !zoneIDs.isEmpty else { return ZonesModification() }
        if sender.scope == .public || (sender.scope == .shared && !zones.isEmpty) {
            throw CKError(
                .badDatabase,
                "Zones can only be created in the private database, and this is the \(sender.scope) one;"
                    + " create the zone there.")
        }
        let operations =
            zones.map {
                ZonesModify.Operation(
                    .create, $0.zoneID.dictionary, encryptionScope: $0.encryptionScope.word)
            }
            + zoneIDs.map {
                ZonesModify.Operation(.delete, $0.dictionary, generation: generations[$0])
            }
        let answer = try await sender.send(
            ZonesModify.self,
            ZonesModify.Request(operations: operations, operationID: operationID))
        try check(answer.items.count, for: operations.count)
        var outcome = ZonesModification()
        var reader = reader
        for case .success(let zone) in answer.items {
            guard let text = zone.databaseSyncToken else { continue }
            outcome.databaseToken = CKServerChangeToken(text: text)
        }
        for (zone, result) in zip(zones, answer.items) {
            outcome.saves.append(
                (
                    zone.zoneID,
                    Result {
                        try matching.check(result.zoneID, zone.zoneID)
                        return try self.zone(result, &reader)
                    }
                ))
        }
        for (zoneID, result) in zip(zoneIDs, answer.items.dropFirst(zones.count)) {
            outcome.deletions.append(
                (
                    zoneID,
                    Result {
                        try matching.check(result.zoneID, zoneID)
                        try deleted(result)
                    }
                ))
        }
        return outcome
    }

    func zones(for zoneIDs: [CKRecordZone.ID]) async throws -> [FetchedZone] {
        guard !zoneIDs.isEmpty else { return [] }
        let answer = try await sender.send(
            ZonesLookup.self, ZonesLookup.Request(zoneIDs.map(\.dictionary)))
        try check(answer.items.count, for: zoneIDs.count)
        var reader = reader
        return zip(zoneIDs, answer.items).map { zoneID, result in
            (
                zoneID,
                Result {
                    try matching.check(result.zoneID, zoneID)
                    return try zone(result, &reader)
                }
            )
        }
    }

    /// All zones of the database.
    func zones() async throws -> [FetchedZone] {
        let answer = try await sender.send(ZonesList.self, ZonesList.Request())
        var reader = reader
        return answer.items.map { result in
            switch result {
            case .success(let dictionary):
                (reader.zoneID(dictionary.zoneID), .success(zone(dictionary, &reader)))
            case .failure(let failure):
                (
                    reader.zoneID(failure.zoneID),
                    .failure(CKError(failure.error, about: .zone))
                )
            }
        }
    }

    private func zone(_ result: ZoneResult, _ reader: inout RecordReader) throws -> CKRecordZone {
        switch result {
        case .success(let dictionary): return zone(dictionary, &reader)
        case .failure(let failure):
            throw CKError(failure.error, about: .zone)
        }
    }

    private func zone(
        _ dictionary: ZoneDictionary, _ reader: inout RecordReader
    ) -> CKRecordZone {
        let zoneID = reader.zoneID(dictionary.zoneID)
        var capabilities: CKRecordZone.Capabilities = []
        if zoneID.zoneName != CKRecordZoneID.defaultZoneName {
            capabilities = [.fetchChanges, .atomic, .sharing, .zoneWideSharing]
            if dictionary.isAtomic == false { capabilities.remove(.atomic) }
            if dictionary.encryptionScope == .perZone { capabilities.remove(.sharing) }
        }
        return CKRecordZone(
            zoneID: zoneID, capabilities: capabilities,
            share: dictionary.shareRecordName.map {
                CKReference(recordID: CKRecordID(known: $0, zoneID: zoneID), action: .none)
            }, encryptionScope: CKRecordZone.EncryptionScope(dictionary.encryptionScope))
    }

    private func deleted(_ result: ZoneResult) throws {
        if case .failure(let failure) = result {
            throw CKError(failure.error, about: .zone)
        }
    }
}

extension ZoneResult {
    /// The zone that an answer is about.
    fileprivate var zoneID: ZoneIDDictionary {
        switch self {
        case .success(let zone): zone.zoneID
        case .failure(let failure): failure.zoneID
        }
    }
}
