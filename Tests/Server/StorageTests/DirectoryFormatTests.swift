import Foundation
import GRDB
import StratusRecords
import Testing

@testable import StratusStorage

/// What becomes of directories that earlier releases wrote.
@Suite struct DirectoryFormatTests {
    private let container = ContainerAddress(
        container: "iCloud.org.example.Trails", environment: .development)

    @Test func aSchemaWithoutMarksGetsThoseThatASaveGives() async throws {
        let path = FileManager.default.temporaryDirectory
            .appendingPathComponent("stratus-directory-\(UUID().uuidString).sqlite").path
        // A leftover in the temporary folder fails no test.
        defer { try? FileManager.default.removeItem(atPath: path) }
        let today = DirectoryFile.format(random: RandomSource(SystemRandomNumberGenerator()))
        let first = FileFormat(applicationID: today.applicationID, steps: [today.steps[0]])
        let old = try SQLiteFile(path: path, format: first, limits: StorageLimits())
        try await old.write { [container] database in
            for type in FieldType.allCases {
                try insert(container, "f_" + type.rawValue, type.rawValue, false, in: database)
            }
            try insert(container, "secret", "STRING", true, in: database)
        }
        try old.close()

        let new = try SQLiteFile(path: path, format: today, limits: StorageLimits())
        let rows = try await SQLiteDirectory(file: new).schema(of: container).fields
        let marks = Dictionary(uniqueKeysWithValues: rows.map { ($0.field ?? "", $0.indexes) })
        for type in FieldType.allCases {
            #expect(marks["f_" + type.rawValue] == type.firstIndexes)
        }
        #expect(marks["secret"] == [])
        for field in SchemaSystemField.allCases {
            #expect(marks[field.rawValue, default: []] == field.firstIndexes)
        }
        try new.close()
    }
}

private func insert(
    _ container: ContainerAddress, _ field: String, _ type: String, _ isEncrypted: Bool,
    in database: Database
) throws {
    try database.execute(
        sql: "INSERT INTO schema_field VALUES (?, ?, 'Trail', ?, ?, ?)",
        arguments: [container.container, container.environment.rawValue, field, type, isEncrypted])
}
