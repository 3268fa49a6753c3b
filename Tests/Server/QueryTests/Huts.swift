import Logging
import StratusRecords
import StratusSchema
import StratusWire
import Testing

@testable import StratusQuery
@testable import StratusStorage

/// A store in memory without records.
func emptyStore() async throws -> any RecordStore {
    try await SQLiteStorageEngine.inMemory().store(
        for: DatabaseAddress(ContainerAddress(container: "c", environment: .production), .public))
}

/// Irregular numbers that are the same in each run.
struct Scatter {
    private var state: UInt64 = 88

    mutating func next(below limit: Int) -> Int64 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return Int64(state >> 33) % Int64(limit)
    }
}

extension RecordStore {
    /// Creates the indexes of huts that a schema asks for; they are readable at once.
    func createIndexes(_ schema: ContainerSchema) async throws {
        try await writeRecords { writer in
            for definition in schema.indexes(of: "Hut").sorted(by: { $0.field < $1.field }) {
                _ = try writer.createIndex(definition, phase: .readable)
            }
        }
    }

    /// Saves huts with their index entries.
    func saveHuts(
        _ numbers: Range<Int>, fields: @escaping @Sendable (Int, inout Scatter) -> [Field]
    ) async throws {
        try await writeRecords { writer in
            let zone = try #require(try writer.zone(named: "_defaultZone")).key
            var indexing = RecordIndexing()
            var scatter = Scatter()
            for number in numbers {
                let version = try writer.takeVersions(1, in: zone).lowerBound
                let fields = fields(number, &scatter)
                let row = hutRow("hut\(number)", zone, version, fields)
                try writer.put(row)
                try indexing.update(row, fields: fields, old: nil, in: writer)
            }
        }
    }
}

func hutRow(
    _ name: String, _ zone: ZoneRow.Key, _ version: Int64, _ fields: [Field]
) -> RecordRow {
    RecordRow(
        zone: zone, name: name, type: "Hut", version: version, commitVersion: version,
        changeTag: "t\(version)", isDeleted: false, creatorDevice: "", createdMilliseconds: 1,
        modifiedMilliseconds: 1, creator: "_a", modifier: "_a", modifierDevice: "",
        parent: nil, shareRoot: nil, payload: RecordFields.values(fields).encoded())
}

extension IndexManager {
    convenience init(limits: Limits = Limits()) {
        self.init(limits: limits, world: .live, logger: Logger(label: "test"))
    }
}
