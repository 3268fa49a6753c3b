import Foundation
import GRDB
import StratusRecords
import Testing

@testable import StratusStorage

/// Every invariant of the stored tables is checked, and a violation of each is reported.
@Suite struct FolderCheckTests {
    /// The first words of an invariant, and a statement that breaks it.
    struct Violation: Sendable, CustomTestStringConvertible {
        var invariant: String
        var statement: String
        var testDescription: String { invariant }

        init(_ invariant: String, _ statement: String) {
            self.invariant = invariant
            self.statement = statement
        }
    }

    static let recordViolations = [
        Violation(
            "A database has one history.",
            """
            PRAGMA ignore_check_constraints = ON;
            INSERT INTO history SELECT 2, 1, 1, 1, identifier, address, commits FROM history
            """),
        Violation("The default zone", "UPDATE zone SET deletion = 1 WHERE name = '_defaultZone'"),
        Violation("A zone changed", "UPDATE history SET version = 0"),
        Violation("The history names", "UPDATE history SET epoch_number = 99"),
        Violation("A zone names the epoch", "UPDATE zone SET epoch = 98 WHERE name = 'Trips'"),
        Violation("Epochs begin", "UPDATE epoch SET start = 999 WHERE number > 1"),
        Violation("A zone's epoch is", "UPDATE epoch SET identifier = 0 WHERE zone > 0"),
        Violation("A zone's purge horizon", "UPDATE zone SET floor = version + 1"),
        Violation("A record lies", "UPDATE zone SET deletion = 1 WHERE name = 'Trips'"),
        Violation("A record's version", "UPDATE record SET commit_version = version + 99"),
        Violation("A tombstone holds", "UPDATE record SET payload = x'01' WHERE deleted = 1"),
        Violation("A tombstone lies", "UPDATE zone SET floor = version WHERE name = 'Trips'"),
        Violation("An asset is held", "INSERT INTO asset VALUES (x'01', 1, 0, 2, NULL)"),
        Violation(
            "A record that holds an asset",
            "INSERT INTO asset_reference VALUES (1, 'nobody', x'02')"),
        Violation("The size of all assets", "UPDATE asset_usage SET size = 7"),
        Violation("A database counts", "UPDATE record_usage SET bytes = bytes + 1"),
        Violation("A record's parent", "UPDATE record SET parent = 'nobody' WHERE deleted = 0"),
        Violation(
            "An entry of an index", "INSERT INTO record_index VALUES (1, 99, x'01', 'nobody')"),
        Violation(
            "A record is found",
            """
            INSERT INTO index_definition
            SELECT 1, type, '', 0, NULL, 1, 0, '', NULL, NULL FROM record WHERE deleted = 0 LIMIT 1
            """),
        Violation(
            "A share has",
            "INSERT INTO share SELECT zone, 'S', NULL, 'g' FROM zone WHERE name = 'Trips'"),
        Violation("A root that", "UPDATE record SET share_root = name WHERE deleted = 0"),
        Violation(
            "Access belongs",
            "INSERT INTO share_access SELECT zone, '_b', 'S', NULL, 0, 1 FROM zone WHERE name = 'Trips'"
        ),
        Violation(
            "A record that has a reference",
            "INSERT INTO reference_ SELECT zone, 'x', 1, 'nobody' FROM zone WHERE name = 'Trips'"),
        Violation(
            "The target of",
            """
            INSERT INTO reference_ SELECT zone, 'nobody', 2, name FROM record WHERE deleted = 0
            """),
        Violation(
            "A replaced state",
            """
            INSERT INTO record_ancestor
            SELECT zone, version + 1, 't', 0, 'u', 'd', NULL, x'7B7D', 0 FROM zone WHERE name = 'Trips'
            """),
    ]

    static let directoryViolations = [
        Violation("The directory has its", "DELETE FROM setting"),
        Violation(
            "An API token",
            """
            INSERT INTO api_token (token, container, environment, name)
            VALUES ('t', 'nowhere', 'production', 'n')
            """),
        Violation(
            "A session",
            """
            INSERT INTO session (identifier, user, stays_signed_in, created_ms)
            VALUES ('s', '_nobody', 0, 0)
            """),
        Violation(
            "A device",
            """
            INSERT INTO device
                (push_token, container, environment, user, client_id, last_used_ms, is_registered)
            VALUES ('p', 'c', 'production', '_nobody', '', 0, 0)
            """),
        Violation("An identity", "INSERT INTO identity VALUES ('i', 's', '_nobody')"),
        Violation(
            "Only an existing user",
            "INSERT INTO discoverable VALUES ('_nobody', 'c', 'production')"),
        Violation(
            "A server's key",
            "INSERT INTO server_key VALUES ('k', 'c', 'production', 'n', 'p', '_nobody', 0, 0)"),
        Violation(
            "A session for",
            """
            INSERT INTO session
                (identifier, user, stays_signed_in, created_ms, container, environment)
            VALUES ('s', '_alice', 0, 0, 'nowhere', 'production')
            """),
        Violation(
            "A record type",
            """
            INSERT INTO schema_field (container, environment, record_type, field, type, is_encrypted)
            VALUES ('nowhere', 'production', 'T', 'f', 'STRING', 0)
            """),
        Violation(
            "A grant is for",
            "INSERT INTO schema_grant VALUES ('c', 'production', 'T', '_world', 1)"),
        Violation(
            "A grant is to",
            "INSERT INTO schema_grant VALUES ('c', 'production', 'T', 'editor', 1)"),
        Violation(
            "A role that", "INSERT INTO role_member VALUES ('c', 'production', 'editor', '_a')"),
    ]

    static let address = DatabaseAddress(
        ContainerAddress(container: "iCloud.org.example.Check", environment: .development),
        .private(owner: "_alice"))

    @Test func everyInvariantHasAViolation() {
        #expect(Set(RecordFile.invariants.map(\.sentence)).count == RecordFile.invariants.count)
        for invariant in RecordFile.invariants {
            #expect(
                Self.recordViolations.contains { invariant.sentence.hasPrefix($0.invariant) },
                "\(invariant)")
        }
        for invariant in DirectoryFile.invariants {
            #expect(
                Self.directoryViolations.contains { invariant.sentence.hasPrefix($0.invariant) },
                "\(invariant)")
        }
    }

    @Test(arguments: recordViolations) func violationInADatabaseIsReported(_ violation: Violation)
        async throws
    {
        try await expectFinding(violation) { DataFolder.path(of: Self.address, in: $0) }
    }

    @Test(arguments: directoryViolations) func violationInTheDirectoryIsReported(
        _ violation: Violation
    ) async throws {
        try await expectFinding(violation) { $0 + "/directory.sqlite" }
    }

    @Test func damagedPageIsReported() async throws {
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

    @Test func unknownFileIsReported() async throws {
        try await withTemporaryFolder { folder in
            try await Self.fill(folder)
            let stray =
                folder + "/databases/i^cloud.org.example.^check/development/notes.txt"
            try Data("hello".utf8).write(to: URL(fileURLWithPath: stray))
            #expect(try await Self.findings(folder).map(\.path) == [stray])
        }
    }

    private func expectFinding(_ violation: Violation, in file: (String) -> String) async throws {
        try await withTemporaryFolder { folder in
            try await Self.fill(folder)
            #expect(try await Self.findings(folder) == [])
            let queue = try DatabaseQueue(path: file(folder))
            try await queue.writeWithoutTransaction { try $0.execute(sql: violation.statement) }
            try queue.close()
            let invariants = try await Self.findings(folder).map(\.invariant)
            #expect(invariants.contains { $0.hasPrefix(violation.invariant) }, "\(invariants)")
        }
    }

    /// A folder with a database, a zone, a living record and a tombstone.
    private static func fill(_ folder: String) async throws {
        let storage = try SQLiteStorageEngine(folder: folder)
        try await storage.directory.createContainer(address.containerAddress)
        try await storage.store(for: address).writeRecords { writer in
            let zone = try writer.createZone(named: "Trips", hasFeed: true)
            let versions = try writer.takeVersions(2, in: zone.key)
            try writer.put(row("hut", zone.key, versions.lowerBound, versions.upperBound, false))
            try writer.put(row("gone", zone.key, versions.upperBound, versions.upperBound, true))
        }
        try await storage.close()
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
        let storage = try SQLiteStorageEngine(folder: folder, access: .beside)
        let check = try await storage.check()
        try await storage.close()
        return check.findings
    }
}
