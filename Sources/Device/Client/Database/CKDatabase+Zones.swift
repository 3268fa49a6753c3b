import Foundation

extension CKDatabase {
    // MARK: One zone

    /// - Throws: the zone's own error, such as `CKError.zoneNotFound`.
    public func recordZone(for zoneID: CKRecordZone.ID) async throws -> CKRecordZone {
        try await session.zones(for: [zoneID]).only().result.get()
    }

    @preconcurrency
    public func fetch(
        withRecordZoneID zoneID: CKRecordZone.ID,
        completionHandler: @escaping @Sendable (CKRecordZone?, (any Error)?) -> Void
    ) {
        core.call({ try await self.recordZone(for: zoneID) }) { $0.hand(to: completionHandler) }
    }

    /// Creates a zone; it is not an error if the zone exists.
    @discardableResult
    public func save(_ zone: CKRecordZone) async throws -> CKRecordZone {
        try await session.modifyZones(saving: [zone], deleting: []).saves.only().result.get()
    }

    @preconcurrency
    public func save(
        _ zone: CKRecordZone,
        completionHandler: @escaping @Sendable (CKRecordZone?, (any Error)?) -> Void
    ) {
        core.call({ try await self.save(zone) }) { $0.hand(to: completionHandler) }
    }

    /// Deletes a zone and all its records permanently.
    @discardableResult
    public func deleteRecordZone(withID zoneID: CKRecordZone.ID) async throws -> CKRecordZone.ID {
        try await session.modifyZones(saving: [], deleting: [zoneID]).deletions.only().result.get()
        return zoneID
    }

    @preconcurrency
    public func delete(
        withRecordZoneID zoneID: CKRecordZone.ID,
        completionHandler: @escaping @Sendable (CKRecordZone.ID?, (any Error)?) -> Void
    ) {
        core.call({ try await self.deleteRecordZone(withID: zoneID) }) {
            $0.hand(to: completionHandler)
        }
    }

    // MARK: Many zones

    public func allRecordZones() async throws -> [CKRecordZone] {
        try await session.zones().map { try $0.result.get() }
    }

    @preconcurrency
    public func fetchAllRecordZones(
        completionHandler: @escaping @Sendable ([CKRecordZone]?, (any Error)?) -> Void
    ) {
        core.call({ try await self.allRecordZones() }) { $0.hand(to: completionHandler) }
    }

    public func recordZones(
        for zoneIDs: [CKRecordZone.ID]
    ) async throws -> [CKRecordZone.ID: Result<CKRecordZone, any Error>] {
        let results = try await session.zones(for: zoneIDs)
        return Dictionary(results.map { ($0.zoneID, $0.result) }) { first, _ in first }
    }

    @preconcurrency
    public func fetch(
        withRecordZoneIDs zoneIDs: [CKRecordZone.ID],
        completionHandler:
            @escaping @Sendable (
                Result<[CKRecordZone.ID: Result<CKRecordZone, any Error>], any Error>
            ) -> Void
    ) {
        core.call({ try await self.recordZones(for: zoneIDs) }, completion: completionHandler)
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
    /// - Returns: also the database's change token afterwards, if the service sends it.
    package func modifyZones(
        saving zones: [CKRecordZone], deleting zoneIDs: [CKRecordZone.ID]
    ) async throws -> (results: RecordZoneModifications, databaseToken: CKServerChangeToken?) {
        let outcome = try await session.modifyZones(saving: zones, deleting: zoneIDs)
        return (
            (
                Dictionary(outcome.saves.map { ($0.zoneID, $0.result) }) { first, _ in first },
                Dictionary(outcome.deletions.map { ($0.zoneID, $0.result) }) { first, _ in first }
            ), outcome.databaseToken
        )
    }

    @preconcurrency
    public func modifyRecordZones(
        saving zones: [CKRecordZone], deleting zoneIDs: [CKRecordZone.ID],
        completionHandler: @escaping @Sendable (Result<RecordZoneModifications, any Error>) -> Void
    ) {
        core.call(
            { try await self.modifyRecordZones(saving: zones, deleting: zoneIDs) },
            completion: completionHandler)
    }
}
