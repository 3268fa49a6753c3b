import Foundation
import TestProcesses
import Testing

/// From a save in development to one in production, with the real program.
@Suite struct SchemaJourneyTests {
    static let container = Session.container
    static let hut =
        #"{"operations":[{"operationType":"create","record":"#
        + #"{"recordType":"Hut","fields":{"beds":{"value":24}}}}]}"#
    static let strange =
        #"{"operations":[{"operationType":"create","record":"#
        + #"{"recordType":"Hut","fields":{"color":{"value":"red"}}}}]}"#

    static func schema(_ command: String, _ folder: String, _ more: [String] = []) throws
        -> CommandRun
    {
        try CommandRun(
            ["schema", command, "--data", folder, "--container", container] + more)
    }

    /// Develops with --dev, deploys while the service runs, creates a token, and saves in production.
    @Test func developedSchemaIsDeployedToProduction() throws {
        let folder = try TemporaryFolder()
        let development = try ServedInstance(dataFolder: folder.path)
        let alice = try Session(development, user: "alice")
        #expect(try alice.post("records/modify", Self.hut).errorCode() == nil)
        #expect(try Self.schema("diff", folder.path).output.contains("+ record type Hut\n"))
        let deployed = try Self.schema("deploy", folder.path)
        #expect(deployed.status == 0)
        #expect(deployed.output.contains("+ Hut.beds INT64 QUERYABLE SORTABLE\n"))
        #expect(try Self.schema("diff", folder.path).output == "no changes\n")
        #expect(development.terminate() == 0)

        let tokens = try CommandRun([
            "token", "create", "--data", folder.path, "--container", Self.container,
            "--environment", "production", "--user", "alice", "--new-user",
        ])
        let variables = Dictionary(
            tokens.output.split(separator: "\n").compactMap { line in
                line.firstIndex(of: "=").map {
                    (String(line[..<$0]), String(line[line.index(after: $0)...]))
                }
            }, uniquingKeysWith: { first, _ in first })
        let production = try ServedInstance(dataFolder: folder.path, arguments: [])
        let path =
            "/database/1/\(Self.container)/production/public/records/modify"
            + "?ckAPIToken=\(try #require(variables["STRATUS_API_TOKEN"]))"
            + "&ckWebAuthToken=\(try Self.escaped(variables["STRATUS_WEB_AUTH_TOKEN"]))"
        let connection = try RawConnection(port: production.port)
        #expect(try Session.post(connection, path, Self.hut).errorCode() == nil)
        let refused = try Session.post(connection, path, Self.strange)
        #expect(try refused.errorCode() == "BAD_REQUEST")
        #expect(
            refused.body.contains(
                "Cannot create or modify field 'color' in record 'Hut' in production schema"))
        #expect(refused.body.contains(#""stratusErrorCode":1003"#))
        #expect(production.terminate() == 0)
        #expect(try CommandRun(["doctor", "--data", folder.path]).status == 0)
    }

    static func escaped(_ token: String?) throws -> String {
        try #require(token?.addingPercentEncoding(withAllowedCharacters: .alphanumerics))
    }

    /// A schema is exported as text, edited, validated and imported, while the service runs.
    @Test func schemaIsImportedWhileServing() throws {
        let folder = try TemporaryFolder()
        let instance = try ServedInstance(dataFolder: folder.path)
        let alice = try Session(instance, user: "alice")
        let bob = try Session(instance, user: "bob")
        #expect(try alice.post("records/modify", Self.hut, database: "public").errorCode() == nil)
        let query = #"{"query":{"recordType":"Hut"}}"#
        #expect(try bob.post("records/query", query, database: "public").errorCode() == nil)

        let text = try Self.schema("export", folder.path).output
        #expect(text.contains("beds            INT64 QUERYABLE SORTABLE,"))
        let file = folder.path + "/huts.schema"
        func write(_ text: String) throws {
            try Data(text.utf8).write(to: URL(fileURLWithPath: file))
        }
        try write(text.replacingOccurrences(of: "INT64 QUERYABLE", with: "DOUBLE QUERYABLE"))
        #expect(try Self.schema("validate", folder.path, [file]).status == 1)
        #expect(try CommandRun(["schema", "validate", file]).status == 0)
        let refused = try Self.schema("import", folder.path, [file])
        #expect(refused.status == 1)
        try write(text.replacingOccurrences(of: "RECORD TYPE", with: "RECORD TIPE"))
        #expect(try CommandRun(["schema", "validate", file]).status == 1)

        // Only editors may read, and bob gets the role later.
        try write(
            text.replacingOccurrences(of: "SCHEMA\n", with: "SCHEMA\n CREATE ROLE editor;\n")
                .replacingOccurrences(
                    of: "GRANT READ TO \"_world\"", with: "GRANT READ TO editor"))
        let diff = try Self.schema("diff", folder.path, [file])
        let imported = try Self.schema("import", folder.path, [file])
        #expect(imported.status == 0)
        #expect(imported.output == diff.output)
        #expect(imported.output.contains("~ Hut, grants to editor: +READ\n"), "\(imported.output)")
        try Self.wait { try !bob.post("records/query", query, database: "public").finds("24") }
        let role = ["--data", folder.path, "--container", Self.container, "editor", "bob"]
        #expect(try CommandRun(["role", "assign"] + role).status == 0)
        try Self.wait { try bob.post("records/query", query, database: "public").finds("24") }
        #expect(
            try CommandRun(["role", "list"] + role.prefix(4)).output.hasPrefix("editor\tbob\t_"))
        #expect(try CommandRun(["role", "revoke"] + role).status == 0)
        try Self.wait { try !bob.post("records/query", query, database: "public").finds("24") }
        #expect(instance.terminate() == 0)
    }

    /// Repeats a check until it succeeds; the service checks the directory once a second.
    static func wait(until isSo: () throws -> Bool) throws {
        let end = ContinuousClock.now + .seconds(10)
        while ContinuousClock.now < end {
            if try isSo() { return }
            usleep(50_000)
        }
        Issue.record("The service did not notice within ten seconds.")
    }

    @Test func schemaResetNeedsConfirmationAndStoppedService() throws {
        let folder = try TemporaryFolder()
        let instance = try ServedInstance(dataFolder: folder.path)
        let alice = try Session(instance, user: "alice")
        #expect(try alice.post("records/modify", Self.hut).errorCode() == nil)
        #expect(try Self.schema("reset", folder.path).status != 0)
        #expect(try Self.schema("reset", folder.path, ["--yes"]).status == 1)
        #expect(instance.terminate() == 0)
        #expect(try Self.schema("reset", folder.path, ["--yes"]).status == 0)
        #expect(try Self.schema("export", folder.path).output == "DEFINE SCHEMA\n")

        let again = try ServedInstance(dataFolder: folder.path)
        let session = try Session(again, user: "alice")
        let color = Self.hut.replacingOccurrences(of: "24", with: #""many""#)
        #expect(try session.post("records/modify", color).errorCode() == nil)
        #expect(again.terminate() == 0)
        let file = folder.path + "/new.schema"
        try Data("DEFINE SCHEMA RECORD TYPE Hut (beds DOUBLE);".utf8)
            .write(to: URL(fileURLWithPath: file))
        #expect(try Self.schema("import", folder.path, [file]).status == 1)
        #expect(try Self.schema("import", folder.path, [file, "--reset"]).status != 0)
        #expect(try Self.schema("import", folder.path, [file, "--reset", "--yes"]).status == 0)
        #expect(try Self.schema("export", folder.path).output.contains("beds            DOUBLE,\n"))
        #expect(try CommandRun(["doctor", "--data", folder.path]).status == 0)
    }

    /// The text in a file on a full disk is not taken for the whole schema.
    @Test func exportToFullDiskFails() throws {
        let folder = try TemporaryFolder()
        let development = try ServedInstance(dataFolder: folder.path)
        let alice = try Session(development, user: "alice")
        #expect(try alice.post("records/modify", Self.hut).errorCode() == nil)
        #expect(development.terminate() == 0)
        let full = try #require(FileHandle(forWritingAtPath: "/dev/full"))
        let errors = Pipe()
        let process = try ChildProcess(
            [
                BuiltProgram.named("stratus").path, "schema", "export", "--data", folder.path,
                "--container", Self.container,
            ], output: full, error: errors.fileHandleForWriting)
        try errors.fileHandleForWriting.close()
        let text = try errors.fileHandleForReading.readToEnd() ?? Data()
        #expect(process.end() == 1)
        #expect(
            String(decoding: text, as: UTF8.self).hasPrefix("Error: The schema was not written"))
    }

    @Test func schemaCommandsRefuseMissingFolder() throws {
        let folder = try TemporaryFolder()
        #expect(try Self.schema("export", folder.path + "/nowhere").status == 1)
        #expect(!FileManager.default.fileExists(atPath: folder.path + "/nowhere"))
        #expect(try CommandRun(["schema", "validate", folder.path + "/none.schema"]).status == 1)
    }
}

extension Answer {
    /// Whether the request was answered and the answer has this text.
    fileprivate func finds(_ text: String) -> Bool { status == 200 && body.contains(text) }
}
