import StratusQuery
import StratusRecords
import StratusStorage
import StratusTesting
import TestProcesses

/// Where a test stores its records.
enum Backend: CaseIterable, Sendable {
    case memory
    case sqlite

    func storage() throws -> any StorageEngine {
        switch self {
        case .memory: SQLiteStorageEngine.inMemory(world: .seeded(7))
        case .sqlite: try SQLiteStorageEngine(folder: RunFolder.newFolder())
        }
    }
}

extension StoreReader {
    /// The default zone, as its owner sees it.
    func ownDefaultZone() throws -> [RecordSearch.Zone] {
        try zones().filter { $0.name == ZoneID.defaultZoneName }
            .map { RecordSearch.Zone(row: $0) { _ in true } }
    }
}
