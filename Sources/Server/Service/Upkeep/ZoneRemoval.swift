import Logging
import StratusRecords
import StratusStorage

/// Deletes a user's zone for a reason that the user's devices can see.
struct ZoneRemoval: Sendable {
    let databases: Databases
    let longChanges: LongChanges
    let directory: any Directory
    let logger: Logger

    /// - Returns: whether there was such a zone.
    func remove(
        named name: String, of user: String, at address: ContainerAddress,
        reason: ZoneRow.Deletion
    ) async throws -> Bool {
        guard name != ZoneID.defaultZoneName else {
            throw ServiceError.invalid("The default zone cannot be deleted; delete its records.")
        }
        let store = try await databases.privateStore(of: user, in: address)
        // No device made the change: all are notified.
        let removal = try await longChanges.records.write(to: store, by: user, on: "") {
            records -> (links: [String], isLong: Bool)? in
            guard let zone = try records.transaction.livingZone(named: name) else { return nil }
            return (try records.remove(zone, reason: reason), records.hasLongChange)
        }
        guard let (links, isLong) = removal else { return false }
        if isLong { await longChanges.begin(store) }
        await SharingOutcome(unusedShortGUIDs: links).forgetShortGUIDs(directory, logger)
        return true
    }
}
