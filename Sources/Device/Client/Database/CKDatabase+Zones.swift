import Foundation

extension CKDatabase {
    // MARK: One zone

    /// - Throws: the zone's own error, such as `CKError.zoneNotFound`.
    public func recordZone(for zoneID: CKRecordZone.ID) async throws -> CKRecordZone {
        try await session.zones(for: [zoneID]).only().result.get()
    }

    /// Creates a zone. It is not an error if the zone exists, unless its encryption scope is different.
    @discardableResult
    public func save(_ zone: CKRecordZone) async throws -> CKRecordZone {
        try await session.modifyZones(saving: [zone], deleting: []).saves.only().result.get()
    }

    /// Deletes a zone and all its records permanently; in the shared database, leaves the zone's shares.
    @discardableResult
    public func deleteRecordZone(withID zoneID: CKRecordZone.ID) async throws -> CKRecordZone.ID {
        try await session.modifyZones(saving: [], deleting: [zoneID]).deletions.only().result.get()
        return zoneID
    }

    // MARK: Many zones

    /// Fetches all zones of the database, with the default zone; the shared database has none.
    ///
    /// - Throws: also the first error of a single zone.
    public func allRecordZones() async throws -> [CKRecordZone] {
        try await session.zones().map { try $0.result.get() }
    }

    /// Fetches zones; the errors of single ones are in their own results.
    public func recordZones(
        for zoneIDs: [CKRecordZone.ID]
    ) async throws -> [CKRecordZone.ID: Result<CKRecordZone, any Error>] {
        byItem(try await session.zones(for: zoneIDs))
    }

    /// The result of each zone that was to be saved or deleted, by ID.
    public typealias RecordZoneModifications = (
        saveResults: [CKRecordZone.ID: Result<CKRecordZone, any Error>],
        deleteResults: [CKRecordZone.ID: Result<Void, any Error>]
    )

    /// Creates and deletes zones; each succeeds or fails on its own.
    ///
    /// Creating a zone that exists and deleting one that does not exist succeed. In the shared database, deleting
    /// a zone leaves its shares.
    ///
    /// - Throws: `CKError` when the request fails as a whole, such as `badDatabase` in the public database, and
    ///   when zones are saved in the shared one.
    @discardableResult
    public func modifyRecordZones(
        saving zones: [CKRecordZone], deleting zoneIDs: [CKRecordZone.ID]
    ) async throws -> RecordZoneModifications {
        try await modifyZones(saving: zones, deleting: zoneIDs).results
    }

    /// Saves and deletes zones in one request, which has a name.
    ///
    /// - Parameters:
    ///   - generations: the generations of the zones to delete; a zone without one is deleted regardless of its
    ///     generation.
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
