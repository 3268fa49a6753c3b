import Foundation
import TestProcesses
import Testing

/// Signing in at a service without `--dev`: real programs, and a simulated browser.
@Suite struct LoginTests {
    private static let container = "iCloud.org.stratus.Shopping"
    private static let password = "correct horse"
    private let service: TemporaryFolder
    private let device: TemporaryFolder

    init() throws { (service, device) = (try TemporaryFolder(), try TemporaryFolder()) }

    /// The steps of the README: a token, an account, a service, and the app.
    @Test func shoppingSignsInWithBrowser() throws {
        let (instance, token) = try serve()
        let environment = ["STRATUS_URL": instance.url, "STRATUS_API_TOKEN": token]
        let signIn = try program(
            "shopping", ["sign-in", "--data", device.path], environment, playing: instance)
        #expect(signIn.status == 0 && signIn.output.contains("You are signed in."))
        let made = try program(
            "shopping", ["--data", device.path], environment,
            input: "new Party\nadd Candles\nsync\n")
        #expect(made.output.contains("In step with the service."))
        let out = try program("shopping", ["sign-out", "--data", device.path], environment)
        #expect(out.status == 0 && out.output.contains("You are signed out."))
        let nobody = try program(
            "shopping", ["--data", device.path], environment, input: "lists\n")
        #expect(!nobody.output.contains("Party"))
        #expect(instance.terminate() == 0)
    }

    /// The device forgets the user and the lists also if the service cannot be told.
    @Test func shoppingSignsOutWithoutTheService() throws {
        let (instance, token) = try serve()
        let environment = ["STRATUS_URL": instance.url, "STRATUS_API_TOKEN": token]
        let signIn = try program(
            "shopping", ["sign-in", "--data", device.path], environment, playing: instance)
        #expect(signIn.status == 0)
        let made = try program(
            "shopping", ["--data", device.path], environment, input: "new Party\n")
        #expect(made.output.contains("The list Party is made and open."))
        #expect(instance.terminate() == 0)
        let out = try program(
            "shopping", ["sign-out", "--anyway", "--data", device.path], environment)
        #expect(out.status == 0 && out.output.contains("You are signed out."))
        #expect(out.output.contains("The service was not notified of the sign-out"))
        let nobody = try program(
            "shopping", ["--data", device.path], environment, input: "lists\n")
        #expect(!nobody.output.contains("Party"))
    }

    @Test func loginPrintsTokenOnlyOnRequest() throws {
        let (instance, token) = try serve()
        let environment = [
            "STRATUS_URL": instance.url, "STRATUS_API_TOKEN": token,
            "STRATUS_KEY_FOLDER": device.path + "/keys", "STRATUS_CONTAINER": Self.container,
        ]
        let nobody = try program("stratus-login", ["--status"], environment)
        #expect(nobody.status == 1 && nobody.output.isEmpty)
        let wrong = try program(
            "stratus-login", ["--email", "ida@example.org"], environment, input: "wrong horse\n")
        #expect(wrong.status == 1 && wrong.error.contains("is not right."))
        #expect(!wrong.error.contains("STRATUS_API_TOKEN"))
        let signIn = try program(
            "stratus-login", ["--email", "ida@example.org"], environment,
            input: Self.password + "\n")
        #expect(signIn.status == 0 && signIn.output.isEmpty)
        #expect(signIn.error.contains("Signed in as _"))

        let file = device.path + "/trails.env"
        let printed = try program(
            "stratus-login", ["--print-token", "--env-file", file], environment)
        let secret = printed.output.trimmingCharacters(in: .newlines)
        #expect(printed.status == 0 && secret.count > 40 && !secret.contains("\n"))
        #expect(!signIn.error.contains(secret) && !printed.error.contains(secret))
        let lines = try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n")
        #expect(lines.contains("STRATUS_WEB_AUTH_TOKEN=\(secret)"))
        let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions]
        #expect(mode as? Int == 0o600)
        #expect(try status(of: secret, token, instance) == 200)

        let elsewhere = environment.merging(["STRATUS_KEY_FOLDER": device.path + "/other"]) { $1 }
        _ = try program(
            "stratus-login", ["--email", "ida@example.org"], elsewhere,
            input: Self.password + "\n")
        let sessions = try program("stratus-login", ["--sessions"], environment).output
            .split(separator: "\n").map {
                $0.split(separator: "\t", omittingEmptySubsequences: false)
            }
        #expect(sessions.count == 2 && sessions.count { $0.last == "*" } == 1)
        let other = try #require(sessions.first { $0.last != "*" }?.first)
        let ended = try program(
            "stratus-login", ["--sessions", "--end-session", String(other)], environment)
        #expect(ended.status == 0 && ended.output.split(separator: "\n").count == 1)
        #expect(try program("stratus-login", ["--status"], elsewhere).status == 1)

        let out = try program("stratus-login", ["--sign-out"], environment)
        #expect(out.status == 0)
        // The printed token belonged to the same session.
        #expect(try status(of: secret, token, instance) == 421)
        #expect(instance.terminate() == 0)
    }

    /// The operator's commands for a user's data, while the service runs.
    @Test func operatorExportsAndDeletesOneUsersRecords() throws {
        let (instance, token) = try serve()
        let environment = ["STRATUS_URL": instance.url, "STRATUS_API_TOKEN": token]
        let signIn = try program(
            "shopping", ["--data", device.path, "sign-in"], environment, playing: instance)
        #expect(signIn.status == 0)
        _ = try program(
            "shopping", ["--data", device.path], environment,
            input: "new Party\nadd Candles\nsync\n")
        func archive(_ name: String) throws -> String {
            let path = device.path + "/" + name
            let run = try CommandRun([
                "user", "export", "--data", service.path, "ida@example.org", "-o", path,
            ])
            #expect(run.status == 0)
            return String(decoding: try Data(contentsOf: URL(fileURLWithPath: path)), as: UTF8.self)
        }
        #expect(try archive("before.tar").contains("Party"))
        let unsure = try CommandRun([
            "user", "delete", "--data", service.path, "--with-records", "ida@example.org",
        ])
        #expect(unsure.status != 0)
        #expect(try archive("after.tar").contains("Party"))
        let sure = try CommandRun([
            "user", "delete", "--data", service.path, "--with-records", "--confirm",
            "ida@example.org", "ida@example.org",
        ])
        #expect(sure.status == 0 && sure.output.hasPrefix("_"))
        let signedOut = try program(
            "shopping", ["--data", device.path], environment, input: "sync\n")
        #expect(!signedOut.output.contains("In step"))
        #expect(instance.terminate() == 0)
    }

    // MARK: Steps

    /// A service without `--dev` with one account, and the app's API token.
    private func serve() throws -> (ServedInstance, apiToken: String) {
        let printed = try CommandRun([
            "token", "create", "--data", service.path, "--container", Self.container, "--loopback",
        ]).output
        let token = try #require(printed.split(separator: "=").last)
        let user = try program(
            "stratus", ["user", "create", "--data", service.path, "--email", "ida@example.org"],
            [:], input: Self.password + "\n")
        #expect(user.status == 0)
        return (
            try ServedInstance(dataFolder: service.path, arguments: []),
            token.trimmingCharacters(in: .newlines)
        )
    }

    private func status(
        of webAuthToken: String, _ apiToken: String, _ instance: ServedInstance
    ) throws -> Int {
        let escaped =
            webAuthToken.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
        return try Session.post(
            RawConnection(port: instance.port),
            "/database/1/\(Self.container)/development/private/zones/list?ckAPIToken=\(apiToken)"
                + "&ckWebAuthToken=\(escaped)", "{}"
        ).status
    }

    /// Runs a program until it ends.
    ///
    /// - Parameter instance: The service on whose page the user signs in, at the address that the program prints.
    private func program(
        _ name: String, _ arguments: [String], _ environment: [String: String], input: String = "",
        playing instance: ServedInstance? = nil
    ) throws -> (status: Int32, output: String, error: String) {
        let (stdin, stdout, stderr) = (Pipe(), Pipe(), Pipe())
        var environment = environment
        // So that no browser of this machine opens.
        environment["DISPLAY"] = nil
        environment["XDG_DATA_HOME"] = device.path
        let process = try ChildProcess(
            [BuiltProgram.named(name).path] + arguments,
            input: stdin.fileHandleForReading, output: stdout.fileHandleForWriting,
            error: stderr.fileHandleForWriting, environment: environment)
        for end in [
            stdin.fileHandleForReading, stdout.fileHandleForWriting, stderr.fileHandleForWriting,
        ] {
            try end.close()
        }
        // A program that refused to start does not read.
        try? stdin.fileHandleForWriting.write(contentsOf: Data(input.utf8))
        try stdin.fileHandleForWriting.close()
        var said = ""
        if let instance {
            _ = try stderr.fileHandleForReading.readLine()
            let address = try stderr.fileHandleForReading.readLine()
            try play(address.trimmingCharacters(in: .whitespaces), instance)
        }
        said += String(
            decoding: try stderr.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        let printed = try stdout.fileHandleForReading.readToEnd() ?? Data()
        return (process.end(), String(decoding: printed, as: UTF8.self), said)
    }

    /// Signs in on a page and follows its redirects.
    private func play(_ address: String, _ instance: ServedInstance) throws {
        let path = try #require(address.split(separator: "\(instance.port)", maxSplits: 1).last)
        let page = try exchange(instance.port, "GET \(path) HTTP/1.1\r\n", "")
        let cookie = try #require(page.firstMatch(of: /(?i)set-cookie: ([^;]+);/)).1
        var fields = ["email": "ida@example.org", "password": Self.password, "stay": "1"]
        for match in page.matches(of: /<input type="hidden" name="(\w+)" value="([^"]*)">/) {
            fields[String(match.1)] = String(match.2)
        }
        let form = fields.map {
            "\($0)=\($1.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? "")"
        }.joined(separator: "&")
        let done = try exchange(
            instance.port, "POST /auth/sign-in HTTP/1.1\r\nCookie: \(cookie)\r\n", form)
        let back = try #require(
            done.firstMatch(of: /(?i)location: http:\/\/127\.0\.0\.1:(\d+)(\S+)/))
        let port = try #require(Int(back.1))
        let taken = try exchange(port, "GET \(back.2) HTTP/1.1\r\n", "")
        #expect(taken.hasPrefix("HTTP/1.1 303"))
    }

    private func exchange(_ port: Int, _ head: String, _ body: String) throws -> String {
        let connection = try RawConnection(port: port)
        try connection.send(
            head + "Host: 127.0.0.1:\(port)\r\nConnection: close\r\n"
                + "Content-Length: \(body.utf8.count)\r\n\r\n" + body)
        return connection.readToEnd()
    }
}
