import StratusRecords
import StratusStorage
import StratusTesting

@testable import StratusService

extension World {
    /// Takes a step of the long changes in a person's private database.
    ///
    /// - Returns: whether there was a step to take.
    func step(_ person: Person, in storage: any StorageEngine) async throws -> Bool {
        let store = try await storage.store(
            for: DatabaseAddress(address, .private(owner: person.name)))
        return try await service.components.longChanges.step(store)
    }
}

extension Limits {
    /// Deletions of more than ten records continue afterwards in steps of seven.
    static var inSmallSteps: Limits {
        .with {
            $0.recordsPerCascade = 10
            $0.recordsPerStep = 7
        }
    }
}
