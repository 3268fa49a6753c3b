import Foundation
import StratusQuery
import StratusRecords
import StratusStorage
import StratusTesting

/// Where a test keeps its records.
enum Backend: CaseIterable, Sendable {
    case memory
    case sqlite

    func storage() throws -> any StorageEngine {
        switch self {
        case .memory: SQLiteStorageEngine.inMemory(world: .seeded(7))
        case .sqlite: try SQLiteStorageEngine(folder: Self.temporaryFolder())
        }
    }

    static func temporaryFolder() -> String {
        FileManager.default.temporaryDirectory
            .appendingPathComponent("stratus-query-tests-\(UUID().uuidString)").path
    }
}

extension StoreReader {
    /// The default zone, as its owner sees it.
    func ownDefaultZone() throws -> [RecordSearch.Zone] {
        try zones().filter { $0.name == ZoneID.defaultZoneName }
            .map { RecordSearch.Zone(row: $0) { _ in true } }
    }
}
