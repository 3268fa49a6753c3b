import Foundation
import TestProcesses
import Testing

/// The command line on a data folder while the service runs; all of them are real processes.
@Suite struct AdministrationTests {
    private static let container = "iCloud.org.example.Journeys"

    /// What a command printed.
    private struct Printed {
        var status: Int32
        var output: String
        var error: String

        /// The value of a `NAME=…` line.
        func value(_ name: String) throws -> String {
            let line = try #require(
                output.split(separator: "\n").first { $0.hasPrefix(name + "=") })
            return String(line.dropFirst(name.count + 1))
        }
    }

    private static func run(
        _ arguments: [String], on folder: TemporaryFolder, input: String? = nil
    ) async throws -> Printed {
        let stratus = BuiltProgram.named("stratus").path
        return try await output(
            of: [stratus] + arguments + ["--data", folder.path], input: input)
    }

    /// Runs a command in a separate thread, since other tests need the pool's.
    private static func output(
        of command: [String], input: String? = nil
    ) async throws -> Printed {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread {
                continuation.resume(with: Result { try outputNow(of: command, input: input) })
            }
        }
    }

    private static func outputNow(of command: [String], input: String?) throws -> Printed {
        let (output, error, standardInput) = (Pipe(), Pipe(), Pipe())
        let process = try ChildProcess(
            command, input: standardInput.fileHandleForReading,
            output: output.fileHandleForWriting, error: error.fileHandleForWriting)
        try output.fileHandleForWriting.close()
        try error.fileHandleForWriting.close()
        try standardInput.fileHandleForReading.close()
        if let input { try standardInput.fileHandleForWriting.write(contentsOf: Data(input.utf8)) }
        try standardInput.fileHandleForWriting.close()
        let printed = try output.fileHandleForReading.readToEnd() ?? Data()
        let complained = try error.fileHandleForReading.readToEnd() ?? Data()
        return Printed(
            status: process.end(), output: String(decoding: printed, as: UTF8.self),
            error: String(decoding: complained, as: UTF8.self))
    }

    /// Repeats a request until the service answers with a status, for as long as a change may take to reach it.
    private static func waits(
        for status: Int, _ ask: () throws -> Int
    ) async throws -> Bool {
        let end = Date().addingTimeInterval(10)
        while Date() < end {
            if try ask() == status { return true }
            try await Task.sleep(for: .milliseconds(50))
        }
        return false
    }

    private static func path(_ action: String, _ database: String, _ query: String) -> String {
        "/database/1/\(container)/development/\(database)/\(action)?\(query)"
    }

    private static func escaped(_ text: String) -> String {
        text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
    }

    @Test func tokensAreCreatedAndRevokedWhileServing() async throws {
        let folder = try TemporaryFolder()
        let instance = try ServedInstance(dataFolder: folder.path, arguments: [])
        let made = try await Self.run(
            [
                "token", "create", "--container", Self.container, "--name", "web", "--origin",
                "https://app.example.org", "--callback-url", "https://app.example.org/in",
                "--user", "alice", "--new-user",
            ], on: folder)
        #expect(made.status == 0, "\(made.error)")
        let token = try made.value("STRATUS_API_TOKEN")
        let webAuthToken = try made.value("STRATUS_WEB_AUTH_TOKEN")
        let query = "ckAPIToken=\(token)&ckWebAuthToken=\(Self.escaped(webAuthToken))"
        // A new connection for each request: the commands between them may take longer than one stays open.
        func ask() throws -> Int {
            let connection = try RawConnection(port: instance.port)
            return try Session.post(connection, Self.path("zones/list", "private", query), "{}")
                .status
        }
        #expect(try await Self.waits(for: 200, ask))
        let list = try await Self.run(["token", "list"], on: folder).output
        #expect(list.hasPrefix("\(token)\t\(Self.container)\tdevelopment\t"))
        #expect(list.contains("web\thttps://app.example.org\thttps://app.example.org/in"))
        let containers = try await Self.run(["container", "list"], on: folder).output
        #expect(containers == "\(Self.container)\tdevelopment\n")
        #expect(try await Self.run(["token", "revoke", token], on: folder).status == 0)
        #expect(try await Self.waits(for: 401, ask))
        let again = try await Self.run(["token", "revoke", token], on: folder)
        #expect(
            again.error
                == "Error: There is no such API token; list them with `stratus token list`.\n")
        #expect(again.status != 0)
        #expect(try await Self.run(["token", "list"], on: folder).output == "")
        #expect(instance.terminate() == 0)
    }

    /// A mistyped name creates neither a user nor a token.
    @Test func tokenOfUnknownUserIsRefused() async throws {
        let folder = try TemporaryFolder()
        let create = ["token", "create", "--container", Self.container, "--user"]
        let refused = try await Self.run(create + ["alcie"], on: folder)
        #expect(refused.status != 0)
        #expect(refused.error.hasPrefix("Error: There is no user alcie. "))
        #expect(try await Self.run(["token", "list"], on: folder).output == "")
        #expect(try await Self.run(["user", "list"], on: folder).output == "")
        #expect(try await Self.run(create + ["alice", "--new-user"], on: folder).status == 0)
        #expect(try await Self.run(create + ["alice"], on: folder).status == 0)
        let users = try await Self.run(["user", "list"], on: folder).output
        let name = try #require(users.split(separator: "\t").first.map(String.init))
        #expect(try await Self.run(create + [name], on: folder).status == 0)
        #expect(users.split(separator: "\n").count == 1)
        let bad = try await Self.run(
            ["container", "create", "--container", "not a name"], on: folder)
        #expect(bad.status != 0 && bad.error.hasPrefix("Error: The container's name is not valid"))
    }

    @Test func containerIsDeletedWhenItIsNamedTwice() async throws {
        let folder = try TemporaryFolder()
        let (instance, _) = try ServedInstance.withTrips(in: folder)
        let container = JourneyAccountTests.container
        let other = "iCloud.org.example.Other"
        let delete = ["container", "delete", "--container", container]
        // Refused while the service runs.
        #expect(try await Self.run(delete + ["--confirm", container], on: folder).status != 0)
        #expect(instance.terminate() == 0)
        for name in [container, other] {
            let made = try await Self.run(["token", "create", "--container", name], on: folder)
            #expect(made.status == 0)
        }
        let shown = try await Self.run(delete, on: folder)
        #expect(shown.status == 0, "\(shown.error)")
        #expect(shown.output.contains("\(container)\tdevelopment\t"))
        #expect(shown.output.contains("\t1 API tokens\t0 server keys\n"))
        #expect(shown.output.hasSuffix("Nothing was deleted: add --confirm \(container)\n"))
        #expect(try await Self.run(delete + ["--confirm", other], on: folder).status != 0)
        let files = folder.path + "/databases/"
        let before = try FileManager.default.subpathsOfDirectory(atPath: files)
        #expect(before.contains { $0.hasSuffix(".sqlite") })
        let deleted = try await Self.run(delete + ["--confirm", container], on: folder)
        #expect(
            deleted.output.hasSuffix("\ndeleted: \(container), development\n"), "\(deleted.error)")
        let after = try FileManager.default.subpathsOfDirectory(atPath: files)
        #expect(!after.contains { $0.hasSuffix(".sqlite") })
        let containers = try await Self.run(["container", "list"], on: folder).output
        #expect(containers == "\(other)\tdevelopment\n")
        let tokens = try await Self.run(["token", "list"], on: folder).output
        #expect(tokens.split(separator: "\n").count == 1 && tokens.contains(other))
        let again = try await Self.run(delete, on: folder)
        #expect(
            again.error == "Error: There is no container \(container) in the environment"
                + " development; see `stratus container list`.\n")
    }

    @Test func usersAreManagedWhileServing() async throws {
        let folder = try TemporaryFolder()
        let instance = try ServedInstance(dataFolder: folder.path, arguments: [])
        let made = try await Self.run(
            [
                "user", "create", "--email", "Ida@Example.org", "--given-name", "Ida", "--verified",
            ], on: folder, input: "correct horse\n")
        #expect(made.status == 0, "\(made.error)")
        let name = made.output.trimmingCharacters(in: .newlines)
        #expect(name.hasPrefix("_") && name.utf8.count == 33)
        let list = try await Self.run(["user", "list"], on: folder).output
        #expect(list.hasPrefix("\(name)\tida@example.org\tenabled\tverified\t"))
        let keys = try await Self.run(
            ["token", "create", "--container", Self.container, "--user", "ida@example.org"],
            on: folder)
        let query =
            "ckAPIToken=\(try keys.value("STRATUS_API_TOKEN"))&ckWebAuthToken="
            + Self.escaped(try keys.value("STRATUS_WEB_AUTH_TOKEN"))
        // A new connection for each request: the commands between them may take longer than one stays open.
        func ask() throws -> Int {
            let connection = try RawConnection(port: instance.port)
            return try Session.post(connection, Self.path("users/caller", "public", query), "{}")
                .status
        }
        #expect(try ask() == 200)
        #expect(try await Self.run(["user", "disable", "ida@example.org"], on: folder).status == 0)
        #expect(try await Self.waits(for: 403, ask))
        #expect(try await Self.run(["user", "enable", name], on: folder).status == 0)
        #expect(try await Self.waits(for: 200, ask))
        let password = try await Self.run(
            ["user", "password", "IDA@example.org"], on: folder, input: "another horse\n")
        #expect(password.status == 0)
        #expect(try await Self.waits(for: 421, ask))
        #expect(try await Self.run(["user", "verify", "--undo", name], on: folder).status == 0)
        #expect(try await Self.run(["user", "list"], on: folder).output.contains("\tunverified\t"))
        let unclear = try await Self.run(["user", "delete", name, "--confirm", name], on: folder)
        #expect(unclear.status != 0 && unclear.error.contains("--with-records"), "\(unclear)")
        #expect(try await Self.run(["user", "list"], on: folder).output.contains(name))
        #expect(try await Self.run(["user", "delete", name], on: folder).output == name + "\n")
        #expect(try await Self.run(["user", "list"], on: folder).output == "")
        #expect(instance.terminate() == 0)
    }

    /// The command fails at the system's limit for the size of a file, and is killed in the middle of the archive.
    @Test func stoppedExportLeavesNothingUnderItsName() async throws {
        let folder = try TemporaryFolder()
        let instance = try ServedInstance(dataFolder: folder.path)
        let alice = try Session(instance, user: "alice")
        let text = String(repeating: "x", count: 900_000)
        for number in 0..<4 {
            let saved = try alice.post(
                "records/modify",
                #"{"operations":[{"operationType":"create","record":{"recordName":"r\#(number)","#
                    + #""recordType":"Note","fields":{"text":{"value":"\#(text)"}}}}]}"#)
            #expect(try saved.errorCode() == nil)
        }
        #expect(instance.terminate() == 0)
        let exports = try TemporaryFolder()
        let path = exports.path + "/alice.tar"
        let export = [
            BuiltProgram.named("stratus").path, "user", "export", "--data", folder.path,
            alice.identity.userRecordName, "-o", path,
        ]
        let refused = try await Self.output(
            of: ["sh", "-c", #"ulimit -f 2048; trap '' XFSZ; exec "$0" "$@""#] + export)
        #expect(refused.status == 1 && refused.error.contains("(File too large)"), "\(refused)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: exports.path) == [])
        let parts = try Self.partsOfKilledExport(export, to: path)
        #expect(parts.count == 1 && parts.allSatisfy { $0.hasPrefix("alice.tar.") }, "\(parts)")
        // The part of an archive is in no one's way.
        #expect(try await Self.output(of: export).status == 0)
        let archive = try tarFiles([UInt8](Data(contentsOf: URL(fileURLWithPath: path))))
        #expect(archive.values.map(\.count).reduce(0, +) > 4 * 900_000)
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
    }

    /// Kills an export once it has created a file, and returns the names of the files that it leaves. It may be complete
    /// before it is killed; then it is made again, a few times.
    private static func partsOfKilledExport(
        _ export: [String], to path: String
    ) throws -> [String] {
        let (files, url) = (FileManager.default, URL(fileURLWithPath: path))
        let folder = url.deletingLastPathComponent().path
        var parts: [String] = []
        for _ in 0..<20 {
            parts = []
            let process = try ChildProcess(export)
            let deadline = ContinuousClock.now + .seconds(60)
            while parts.isEmpty, .now < deadline {
                sched_yield()
                parts = try files.contentsOfDirectory(atPath: folder)
            }
            process.end(with: SIGKILL)
            parts = try files.contentsOfDirectory(atPath: folder)
            guard parts == [url.lastPathComponent] else { break }
            try files.removeItem(at: url)
        }
        return parts
    }

    @Test func refusedCommandPrintsOneSentence() async throws {
        let folder = try TemporaryFolder()
        let long = String(repeating: "x", count: 128)
        for (arguments, input, sentence) in [
            (
                ["user", "create", "--email", "ida"], "correct horse\n",
                "The e-mail address is not valid"
            ),
            (
                ["user", "create", "--email", "i@example.org"], "short\n",
                "The password does not have 8 to 256"
            ),
            (
                ["user", "create", "--email", "i@example.org"], nil,
                "Standard input has no password"
            ),
            (
                ["user", "disable", "nobody"], nil,
                "There is no user nobody; `stratus user list` prints all."
            ),
            (["token", "create", "--container", long], nil, "The container's name is not valid"),
            (
                ["token", "create", "--container", "c", "--origin", "https://a.example.org/"], nil,
                "https://a.example.org/ is not an origin"
            ),
            (
                ["key", "add", "--container", "c", "/nowhere"], nil,
                "The key's file cannot be read: /nowhere. Check its path."
            ),
            (
                ["key", "add", "--container", "c", "/etc/hostname"], nil,
                "The text is not a P-256 public key"
            ),
            (
                ["key", "revoke", "0"], nil,
                "There is no such key; list them with `stratus key list`."
            ),
        ] as [([String], String?, String)] {
            let printed = try await Self.run(arguments, on: folder, input: input)
            #expect(printed.status != 0)
            #expect(printed.error.hasPrefix("Error: " + sentence), "\(printed.error)")
            #expect(printed.error.split(separator: "\n").count == 1, "\(printed.error)")
            #expect(printed.output == "")
        }
    }

    @Test func serviceServesTLS() async throws {
        let folder = try TemporaryFolder()
        let (certificate, key) = (folder.path + "/certificate.pem", folder.path + "/key.pem")
        let made = try await Self.output(
            of: [
                "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=localhost",
                "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", certificate,
            ])
        #expect(made.status == 0, "\(made.error)")
        let instance = try ServedInstance(
            dataFolder: nil,
            arguments: ["--dev", "--tls-certificate", certificate, "--tls-key", key])
        let url = "https://localhost:\(instance.port)"
        let health = try await Self.output(
            of: ["curl", "-sS", "--cacert", certificate, url + "/health"])
        #expect(health.output == #"{"status":"ready"}"#, "\(health.error)")
        let stranger = try await Self.output(of: ["curl", "-sS", url + "/health"])
        #expect(stranger.status != 0 && stranger.output.isEmpty)
        #expect(instance.terminate() == 0)
    }

    @Test func unusableCertificateFailsStart() async throws {
        let folder = try TemporaryFolder()
        let refused = try await Self.run(
            ["serve", "--port", "0", "--tls-certificate", "/nowhere", "--tls-key", "/nowhere"],
            on: folder)
        #expect(refused.status != 0)
        #expect(
            refused.error
                == "Error: The file has no certificate in PEM; give one that has. (/nowhere)\n")
        let half = try await Self.run(["serve", "--tls-certificate", "/nowhere"], on: folder)
        #expect(half.status != 0)
        #expect(half.error.contains("--tls-key"))
    }

    /// A form from a page of the service has the origin that the browser writes, and must be accepted.
    @Test(arguments: [
        "https://cloud.example.org/", "https://Cloud.example.org", "https://cloud.example.org:443",
        "http://cloud.example.org:80", "https://cloud.example.org/stratus", "cloud.example.org",
    ])
    func publicURLThatIsNoOriginFailsStart(url: String) async throws {
        let folder = try TemporaryFolder()
        let refused = try await Self.run(
            ["serve", "--host", "no..such", "--port", "0", "--public-url", url], on: folder)
        #expect(refused.status != 0)
        #expect(
            refused.error.hasPrefix("Error: --public-url \(url) is not an origin"),
            "\(refused.error)")
    }

    @Test func invalidIdentityProvidersFailStart() async throws {
        let folder = try TemporaryFolder()
        let file = folder.path + "/providers.json"
        for text in [
            "no JSON", "{}",
            #"[{"issuer":"i","audiences":[],"keys":"https://id.example.org"}]"#,
            #"[{"issuer":"i","audiences":["a"],"keys":"http://id.example.org"}]"#,
            #"[{"issuer":"i","audiences":["a"],"keys":"/k","algorithms":["none"]}]"#,
            #"[{"issuer":"i","audiences":["a"],"keys":"/k","algorithms":["HS256"]}]"#,
        ] {
            try Data(text.utf8).write(to: URL(fileURLWithPath: file))
            let refused = try await Self.run(
                ["serve", "--port", "0", "--identity-providers", file], on: folder)
            #expect(refused.status != 0)
            #expect(refused.error.hasPrefix("Error: "), "\(refused.error)")
        }
    }
}
