import Foundation
import TestProcesses
import Testing

/// Access to what is meant for this machine only, and the host name in the service's answers.
@Suite(.serialized) struct LocalAccessTests {
    @Test func developmentSignInRefusesForeignOrigins() throws {
        let service = try AttackedService(["--dev"])
        let own = "http://127.0.0.1:\(service.port)"
        func status(_ headers: String, host: String = "localhost") throws -> Int {
            try RawConnection(attacking: service.port).ask(
                posting("/dev/sign-in", #"{"user":"ida"}"#, host: host, headers: headers)
            ).status
        }
        #expect(try status("Origin: https://evil.example.org\r\n") == 403)
        #expect(try status("Origin: null\r\n") == 403)
        #expect(try status("Origin: http://localhost:1\r\n") == 403)
        // A name that a foreign name server resolves to this machine.
        #expect(try [400, 403, 421].contains(status("", host: "evil.example.org")))
        #expect(try status("Origin: \(own)\r\n", host: "127.0.0.1:\(service.port)") == 200)
        #expect(try status("") == 200)
    }

    /// The router ignores empty segments, and so must the check of the origin.
    @Test(arguments: ["//dev/sign-in", "/dev//sign-in", "///dev/sign-in/"])
    func emptySegmentsDoNotHideDevelopmentSignIn(path: String) throws {
        let service = try AttackedService(["--dev"])
        func status(_ headers: String) throws -> Int {
            try RawConnection(attacking: service.port).ask(
                posting(path, #"{"user":"ida"}"#, headers: headers)
            ).status
        }
        #expect(try status("Origin: https://evil.example.org\r\n") == 403)
        #expect(try status("Sec-Fetch-Site: cross-site\r\n") == 403)
        #expect(try status("") == 200)
    }

    @Test func developmentListensOnLoopbackOnly() throws {
        do {
            _ = try AttackedService(["--dev", "--host", "0.0.0.0"])
            Issue.record("The service started without --dev-anywhere.")
        } catch let failure as AttackedService.StartFailure {
            #expect(failure.sentence.contains("--dev-anywhere"), "\(failure.sentence)")
        }
        _ = try AttackedService(["--dev", "--dev-anywhere", "--host", "0.0.0.0"])
    }

    @Test func forgedHostIsNotReturnedInAnswers() throws {
        let service = try AttackedService(["--dev"])
        let connection = try RawConnection(attacking: service.port)
        let path =
            "/database/1/iCloud.org.example.Doors/development/private/zones/list?ckAPIToken=development"
        let forged = try connection.ask(posting(path, "{}", host: "evil.example.org"))
        #expect(!forged.body.contains("evil.example.org"), "\(forged)")
        // What looks like the service's own name is the user and password of another host.
        for host in ["127.0.0.1:80@evil.example.org", "[::1]@evil.example.org"] {
            let forged = try RawConnection(attacking: service.port).ask(
                posting(path, "{}", host: host))
            #expect(forged.status == 400 && !forged.body.contains("evil"), "\(forged)")
        }
        #expect(forged.status == 421 || forged.status == 400)
        for host in ["localhost:\(service.port)", "127.0.0.1:\(service.port)"] {
            let good = try RawConnection(attacking: service.port).ask(
                posting(path, "{}", host: host))
            #expect(
                good.body.contains("http:\\/\\/\(host)") || good.body.contains("http://\(host)"))
        }
    }

    /// Removing a file of the folder must not make it possible to start a second service in it.
    @Test func secondServiceIsRefusedAfterLockFileIsUnlinked() throws {
        let folder = AttackedFolder()
        let service = try AttackedService([], storage: ["--data", folder.path])
        #expect(service.port > 0)
        #expect(unlink(folder.path + "/lock") == 0)
        #expect(throws: AttackedService.StartFailure.self) {
            _ = try AttackedService([], storage: ["--data", folder.path])
        }
    }

    /// On a terminal, whose driver would echo the input.
    @Test func passwordIsNotEchoed() throws {
        let folder = AttackedFolder()
        let terminal = open("/dev/ptmx", O_RDWR | O_NOCTTY)
        // TIOCSPTLCK and TIOCGPTN: unlock the terminal, and get its number.
        var number: Int32 = 0
        #expect(ioctl(terminal, 0x4004_5431, &number) == 0)
        #expect(ioctl(terminal, 0x8004_5430, &number) == 0)
        let inner = open("/dev/pts/\(number)", O_RDWR | O_NOCTTY)
        let screen = FileHandle(fileDescriptor: terminal)
        let identifier = try AttackedService.spawn(
            ["user", "create", "--data", folder.path, "--email", "ida@example.org"],
            input: inner, output: FileHandle(fileDescriptor: inner),
            errors: FileHandle(fileDescriptor: inner))
        // The prompt shows that the terminal is ready.
        var shown = ""
        while !shown.contains("assword") {
            let more = screen.availableData
            guard !more.isEmpty else { break }
            shown += String(decoding: more, as: UTF8.self)
        }
        screen.write(Data("correct horse battery\n".utf8))
        #expect(ChildProcess.wait(for: identifier) == 0)
        // The driver echoes before the program can read the line.
        shown += String(decoding: screen.availableData, as: UTF8.self)
        #expect(!shown.contains("horse"), "\(shown)")
        close(inner)
        close(terminal)
    }

    @Test func hangupReloadsTLSFiles() throws {
        let folder = AttackedFolder()
        try FileManager.default.createDirectory(
            atPath: folder.path, withIntermediateDirectories: true)
        let certificate = folder.path + "/certificate.pem"
        let key = folder.path + "/key.pem"
        try LocalhostCertificate.pem.write(toFile: certificate, atomically: true, encoding: .utf8)
        try LocalhostCertificate.keyPEM.write(toFile: key, atomically: true, encoding: .utf8)
        let service = try AttackedService(["--tls-certificate", certificate, "--tls-key", key])
        service.signal(SIGHUP)
        #expect(try service.errorLine().contains("read again"))
        try "nonsense".write(toFile: certificate, atomically: true, encoding: .utf8)
        service.signal(SIGHUP)
        #expect(try service.errorLine().contains("stay in use"))
        // It is still listening.
        _ = try RawConnection(attacking: service.port)
        #expect(try service.residentMegabytes() > 0)
    }
}
