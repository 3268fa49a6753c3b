import Foundation

extension CKDatabase {
    // MARK: One zone

    /// - Throws: the zone's own error, such as `CKError.zoneNotFound`.
    public func recordZone(for zoneID: CKRecordZone.ID) async throws -> CKRecordZone {
        try await session.zones(for: [zoneID]).only().result.get()
    }

    /// Creates a zone; it is not an error if the zone exists.
    @discardableResult
    public func save(_ zone: CKRecordZone) async throws -> CKRecordZone {
        try await session.modifyZones(saving: [zone], deleting: []).saves.only().result.get()
    }

    /// Deletes a zone and all its records permanently.
    @discardableResult
    public func deleteRecordZone(withID zoneID: CKRecordZone.ID) async throws -> CKRecordZone.ID {
        try await session.modifyZones(saving: [], deleting: [zoneID]).deletions.only().result.get()
        return zoneID
    }

    // MARK: Many zones

    public func allRecordZones() async throws -> [CKRecordZone] {
        try await session.zones().map { try $0.result.get() }
    }

    public func recordZones(
        for zoneIDs: [CKRecordZone.ID]
    ) async throws -> [CKRecordZone.ID: Result<CKRecordZone, any Error>] {
        byItem(try await session.zones(for: zoneIDs))
    }

    public typealias RecordZoneModifications = (
        saveResults: [CKRecordZone.ID: Result<CKRecordZone, any Error>],
        deleteResults: [CKRecordZone.ID: Result<Void, any Error>]
    )

    @discardableResult
    public func modifyRecordZones(
        saving zones: [CKRecordZone], deleting zoneIDs: [CKRecordZone.ID]
    ) async throws -> RecordZoneModifications {
        try await modifyZones(saving: zones, deleting: zoneIDs).results
    }

    /// The same.
    ///
    /// - Parameters:
    ///   - generations: which of the zones of their names are to be deleted; the others whichever they are.
    ///   - operationID: names the request, for ``cancelOperations(_:of:inZonesOf:)``.
    /// - Returns: also the database's change token afterwards, if the service sends it.
    package func modifyZones(
        saving zones: [CKRecordZone], deleting zoneIDs: [CKRecordZone.ID],
        generations: [CKRecordZone.ID: Int64] = [:], operationID: String? = nil
    ) async throws -> (results: RecordZoneModifications, databaseToken: CKServerChangeToken?) {
        let outcome = try await session.modifyZones(
            saving: zones, deleting: zoneIDs, generations: generations, operationID: operationID)
        return (outcome.resultsByItem, outcome.databaseToken)
    }
}
