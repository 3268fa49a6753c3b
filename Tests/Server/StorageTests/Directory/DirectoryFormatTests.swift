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
        try await withEarlierFile(of: DirectoryFile.format(world: .live), through: 1) {
            [container] database in
            for type in FieldType.allCases {
                try insert(container, "f_" + type.rawValue, type.rawValue, false, in: database)
            }
            try insert(container, "secret", "STRING", true, in: database)
        } _: { new in
            let rows = try await SQLiteDirectory(database: new).schema(of: container).fields
            let marks = Dictionary(uniqueKeysWithValues: rows.map { ($0.field ?? "", $0.indexes) })
            for type in FieldType.allCases {
                #expect(marks["f_" + type.rawValue] == type.firstIndexes)
            }
            #expect(marks["secret"] == [])
            for field in SchemaSystemField.allCases {
                #expect(marks[field.rawValue, default: []] == field.firstIndexes)
            }
        }
    }

    /// Types from an imported schema keep its marks, and production keeps the deployed ones.
    @Test(arguments: [
        (ContainerEnvironment.development, 3, true), (.development, 1, false),
        (.production, 3, false),
    ])
    func migrationMarksUserFieldsOfSavedTypesOnly(
        _ environment: ContainerEnvironment, _ timeMarks: Int, _ isMarked: Bool
    ) async throws {
        let container = ContainerAddress(
            container: "iCloud.org.example.Trails", environment: environment)
        try await withEarlierFile(of: DirectoryFile.format(world: .live), through: 7) { database in
            for (field, type, marks) in [
                ("name", "STRING", 7), ("___recordID", "REFERENCE", 1),
                ("___createTime", "TIMESTAMP", timeMarks), ("___modTime", "TIMESTAMP", timeMarks),
            ] {
                try database.execute(
                    sql: """
                        INSERT INTO schema_field (
                            container, environment, record_type, field, type, is_encrypted, indexes)
                        VALUES (?, ?, 'Trail', ?, ?, 0, ?)
                        """,
                    arguments: [
                        container.container, environment.rawValue, field, type, marks,
                    ])
            }
        } _: { new in
            let rows = try await SQLiteDirectory(database: new).schema(of: container).fields
            let marks = Dictionary(uniqueKeysWithValues: rows.map { ($0.field ?? "", $0.indexes) })
            for field in [SchemaSystemField.createdBy, .modifiedBy] {
                #expect(marks[field.rawValue] == (isMarked ? .queryable : nil))
            }
            #expect(marks["___createTime"] == FieldIndexes(rawValue: UInt8(timeMarks)))
        }
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
