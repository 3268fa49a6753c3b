import Foundation
import GRDB
import StratusRecords
import StratusSQLite
import Testing

@testable import StratusStorage

/// Directories that earlier releases wrote.
@Suite struct DirectoryFormatTests {
    private let container = ContainerAddress(
        container: "iCloud.org.example.Trails", environment: .development)

    @Test func migratedSchemaGetsTheIndexMarksOfASave() async throws {
        let path = FileManager.default.temporaryDirectory
            .appendingPathComponent("stratus-directory-\(UUID().uuidString).sqlite").path
        // A leftover in the temporary folder fails no test.
        defer { try? FileManager.default.removeItem(atPath: path) }
        let today = DirectoryFile.format(world: .live)
        let first = today.through(1)
        let old = try SQLiteFile(path: path, format: first)
        try await old.write { [container] database in
            for type in FieldType.allCases {
                try insert(container, "f_" + type.rawValue, type.rawValue, false, in: database)
            }
            try insert(container, "secret", "STRING", true, in: database)
        }
        try old.close()

        let new = try SQLiteFile(path: path, format: today)
        let rows = try await SQLiteDirectory(database: new).schema(of: container).fields
        let marks = Dictionary(uniqueKeysWithValues: rows.map { ($0.field ?? "", $0.indexes) })
        for type in FieldType.allCases {
            #expect(marks["f_" + type.rawValue] == type.firstIndexes)
        }
        #expect(marks["secret"] == [])
        // Who made and who changed a record was not marked then, and stays so.
        let later: Set<SchemaSystemField> = [.createdBy, .modifiedBy]
        for field in SchemaSystemField.allCases {
            #expect(
                marks[field.rawValue, default: []]
                    == (later.contains(field) ? [] : field.firstIndexes))
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
