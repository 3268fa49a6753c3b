import StratusRecords
import StratusStorage
import StratusTesting

@testable import StratusService

extension World {
    /// A step of what is left of long changes in a person's private database.
    ///
    /// - Returns: whether there was anything to do.
    func step(_ person: Person, in storage: any StorageEngine) async throws -> Bool {
        let store = try await storage.store(
            for: DatabaseAddress(address, .private(owner: person.name)))
        return try await service.components.longChanges.step(store)
    }
}

extension Limits {
    /// Deletions of more than ten records go on afterwards, seven at a time.
    static var inSmallSteps: Limits {
        .with {
            $0.recordsPerCascade = 10
            $0.recordsPerStep = 7
        }
    }
}
