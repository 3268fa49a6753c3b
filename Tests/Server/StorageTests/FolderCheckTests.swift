import Foundation
import GRDB
import StratusRecords
import Testing

@testable import StratusStorage

/// Every law of the stored tables is asked, and each is told when it is broken.
@Suite struct FolderCheckTests {
    /// A law's first words and a statement that breaks it.
    struct Breach: Sendable, CustomTestStringConvertible {
        var law: String
        var statement: String
        var testDescription: String { law }

        init(_ law: String, _ statement: String) {
            self.law = law
            self.statement = statement
        }
    }

    static let recordBreaches = [
        Breach(
            "A database has one history.",
            "PRAGMA ignore_check_constraints = ON; INSERT INTO history VALUES (2, 1, 1, 1)"),
        Breach("The default zone", "UPDATE zone SET deletion = 1 WHERE name = '_defaultZone'"),
        Breach("A zone changed", "UPDATE history SET version = 0"),
        Breach("A zone's floor", "UPDATE zone SET floor = version + 1"),
        Breach("A record lies", "UPDATE zone SET deletion = 1 WHERE name = 'Trips'"),
        Breach("A record's version", "UPDATE record SET commit_version = version + 99"),
        Breach("A tombstone holds", "UPDATE record SET payload = x'01' WHERE deleted = 1"),
        Breach("A tombstone lies", "UPDATE zone SET floor = version WHERE name = 'Trips'"),
        Breach("An asset is held", "INSERT INTO asset VALUES (x'01', 1, 0, 2, NULL)"),
        Breach(
            "A record that holds an asset",
            "INSERT INTO asset_reference VALUES (1, 'nobody', x'02')"),
        Breach("The size of all assets", "UPDATE asset_usage SET size = 7"),
        Breach("A database counts", "UPDATE record_usage SET bytes = bytes + 1"),
        Breach("A record's parent", "UPDATE record SET parent = 'nobody' WHERE deleted = 0"),
        Breach("An entry of an index", "INSERT INTO record_index VALUES (1, 99, x'01', 'nobody')"),
        Breach(
            "A record is found",
            """
            INSERT INTO index_definition
            SELECT 1, type, '', 0, NULL, 1, 0, '' FROM record WHERE deleted = 0 LIMIT 1
            """),
        Breach(
            "A share has",
            "INSERT INTO share SELECT zone, 'S', NULL, 'g' FROM zone WHERE name = 'Trips'"),
        Breach("What lies under", "UPDATE record SET share_root = name WHERE deleted = 0"),
        Breach(
            "Access is by",
            "INSERT INTO share_access SELECT zone, '_b', 'S', NULL, 0, 1 FROM zone WHERE name = 'Trips'"
        ),
        Breach(
            "Who has a reference",
            "INSERT INTO reference_ SELECT zone, 'x', 1, 'nobody' FROM zone WHERE name = 'Trips'"),
        Breach(
            "The target of",
            """
            INSERT INTO reference_ SELECT zone, 'nobody', 2, name FROM record WHERE deleted = 0
            """),
        Breach(
            "A replaced state",
            """
            INSERT INTO record_ancestor
            SELECT zone, version + 1, 't', 0, 'u', 'd', NULL, x'7B7D' FROM zone WHERE name = 'Trips'
            """),
    ]

    static let directoryBreaches = [
        Breach("The directory has its", "DELETE FROM setting"),
        Breach(
            "An API token",
            """
            INSERT INTO api_token (token, container, environment, name)
            VALUES ('t', 'nowhere', 'production', 'n')
            """),
        Breach(
            "A session",
            """
            INSERT INTO session (identifier, user, stays_signed_in, created_ms)
            VALUES ('s', '_nobody', 0, 0)
            """),
        Breach(
            "A device",
            """
            INSERT INTO device
                (push_token, container, environment, user, client_id, last_used_ms, is_registered)
            VALUES ('p', 'c', 'production', '_nobody', '', 0, 0)
            """),
        Breach("An identity", "INSERT INTO identity VALUES ('i', 's', '_nobody')"),
        Breach("Only a user", "INSERT INTO discoverable VALUES ('_nobody', 'c', 'production')"),
        Breach(
            "A server's key",
            "INSERT INTO server_key VALUES ('k', 'c', 'production', 'n', 'p', '_nobody', 0, 0)"),
        Breach(
            "A session that is good",
            """
            INSERT INTO session
                (identifier, user, stays_signed_in, created_ms, container, environment)
            VALUES ('s', '_alice', 0, 0, 'nowhere', 'production')
            """),
        Breach(
            "A record type",
            """
            INSERT INTO schema_field (container, environment, record_type, field, type, is_encrypted)
            VALUES ('nowhere', 'production', 'T', 'f', 'STRING', 0)
            """),
        Breach(
            "A grant is about",
            "INSERT INTO schema_grant VALUES ('c', 'production', 'T', '_world', 1)"),
        Breach(
            "A grant is to",
            "INSERT INTO schema_grant VALUES ('c', 'production', 'T', 'editor', 1)"),
        Breach(
            "A role that", "INSERT INTO role_member VALUES ('c', 'production', 'editor', '_a')"),
    ]

    static let address = DatabaseAddress(
        ContainerAddress(container: "iCloud.org.example.Check", environment: .development),
        .private(owner: "_alice"))

    @Test func everyLawHasItsBreach() {
        #expect(Set(RecordFile.laws.map(\.sentence)).count == RecordFile.laws.count)
        for law in RecordFile.laws {
            #expect(Self.recordBreaches.contains { law.sentence.hasPrefix($0.law) }, "\(law)")
        }
        for law in DirectoryFile.laws {
            #expect(Self.directoryBreaches.contains { law.sentence.hasPrefix($0.law) }, "\(law)")
        }
    }

    @Test(arguments: recordBreaches) func aBreachInADatabaseIsTold(_ breach: Breach) async throws {
        try await expectFinding(breach) { DataFolder.path(of: Self.address, in: $0) }
    }

    @Test(arguments: directoryBreaches) func aBreachInTheDirectoryIsTold(
        _ breach: Breach
    ) async throws {
        try await expectFinding(breach) { $0 + "/directory.sqlite" }
    }

    @Test func aDamagedFileIsTold() async throws {
        try await withTemporaryFolder { folder in
            try await Self.fill(folder)
            let file = DataFolder.path(of: Self.address, in: folder)
            let handle = try FileHandle(forUpdating: URL(fileURLWithPath: file))
            try handle.seek(toOffset: 4_096 * 3)
            try handle.write(contentsOf: Data(repeating: 0xA5, count: 4_096))
            try handle.close()
            let findings = try await Self.findings(folder)
            #expect(findings.contains { $0.path == file }, "\(findings)")
        }
    }

    @Test func aStrangersFileIsTold() async throws {
        try await withTemporaryFolder { folder in
            try await Self.fill(folder)
            let stray =
                folder + "/databases/i^cloud.org.example.^check/development/notes.txt"
            try Data("hello".utf8).write(to: URL(fileURLWithPath: stray))
            #expect(try await Self.findings(folder).map(\.path) == [stray])
        }
    }

    private func expectFinding(_ breach: Breach, in file: (String) -> String) async throws {
        try await withTemporaryFolder { folder in
            try await Self.fill(folder)
            #expect(try await Self.findings(folder) == [])
            let queue = try DatabaseQueue(path: file(folder))
            try await queue.writeWithoutTransaction { try $0.execute(sql: breach.statement) }
            try queue.close()
            let laws = try await Self.findings(folder).map(\.law)
            #expect(laws.contains { $0.hasPrefix(breach.law) }, "\(laws)")
        }
    }

    /// A folder with a database, a zone, a living record and a tombstone.
    private static func fill(_ folder: String) async throws {
        let house = try SQLiteStorehouse(folder: folder)
        try await house.directory.createContainer(address.containerAddress)
        try await house.store(for: address).write { writer in
            let zone = try writer.createZone(named: "Trips", hasFeed: true)
            let versions = try writer.takeVersions(2, in: zone.key)
            try writer.put(row("hut", zone.key, versions.lowerBound, versions.upperBound, false))
            try writer.put(row("gone", zone.key, versions.upperBound, versions.upperBound, true))
        }
        try await house.close()
    }

    private static func row(
        _ name: String, _ zone: ZoneRow.Key, _ version: Int64, _ commitVersion: Int64,
        _ isDeleted: Bool
    ) -> RecordRow {
        RecordRow(
            zone: zone, name: name, type: "Hut", version: version, commitVersion: commitVersion,
            changeTag: "tag", isDeleted: isDeleted, creatorDevice: "phone", createdMilliseconds: 1,
            modifiedMilliseconds: 1, creator: "_alice", modifier: "_alice", modifierDevice: "phone",
            parent: nil, shareRoot: nil, payload: isDeleted ? [] : [1])
    }

    private static func findings(_ folder: String) async throws -> [Finding] {
        let house = try SQLiteStorehouse(folder: folder, access: .beside)
        let check = try await house.check()
        try await house.close()
        return check.findings
    }
}
