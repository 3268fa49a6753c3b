#if os(Linux)
    import Foundation
    import Synchronization
    import TestProcesses
    import Testing

    /// A real nginx with the configuration of Operations.md, on a separate port and with its own files.
    final class Nginx: Sendable {
        let folder: TemporaryFolder
        let port: Int
        var url: String { "https://localhost:\(port)" }
        private var certificate: String { folder.path + "/certificate.pem" }
        private var key: String { folder.path + "/key.pem" }
        private var main: String { folder.path + "/nginx.conf" }

        /// Debian installs nginx where only root's path finds it.
        static let path = ((ProcessInfo.processInfo.environment["PATH"] ?? "") + ":/usr/sbin")
            .split(separator: ":").map { $0 + "/nginx" }
            .first { FileManager.default.isExecutableFile(atPath: $0) }

        /// The one configuration of the document.
        static func documented() throws -> String {
            let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
                .deletingLastPathComponent().deletingLastPathComponent()
                .deletingLastPathComponent()
            let page = try String(
                contentsOf: root.appendingPathComponent("Documentation/Operations.md"),
                encoding: .utf8)
            let blocks = page.components(separatedBy: "```nginx\n")
            #expect(blocks.count == 2)
            return try #require(blocks.last?.components(separatedBy: "```").first)
        }

        init() throws {
            folder = try TemporaryFolder()
            port = try Self.freePort()
            let status = try ChildProcess(
                [
                    "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
                    "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost",
                    "-keyout", folder.path + "/key.pem", "-out", folder.path + "/certificate.pem",
                ], error: .nullDevice
            ).end()
            #expect(status == 0)
        }

        /// Starts nginx, which goes to the background once it listens.
        func start(before servicePort: Int) throws {
            var site = try Self.documented()
            let files = "/etc/letsencrypt/live/cloud.example.org/"
            for (documented, own) in [
                ("127.0.0.1:8080", "127.0.0.1:\(servicePort)"),
                ("listen 443 ssl", "listen 127.0.0.1:\(port) ssl"),
                (files + "fullchain.pem", certificate), (files + "privkey.pem", key),
            ] {
                #expect(site.components(separatedBy: documented).count == 2, "\(documented)")
                site = site.replacingOccurrences(of: documented, with: own)
            }
            try site.write(toFile: folder.path + "/site.conf", atomically: true, encoding: .utf8)
            let kinds = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            try """
            pid \(folder.path)/nginx.pid;
            error_log \(folder.path)/error.log;
            master_process off;
            events {}
            http {
                access_log off;
                \(kinds.map { "\($0)_temp_path \(folder.path)/\($0);" }.joined(separator: "\n    "))
                include \(folder.path)/site.conf;
            }

            """.write(toFile: main, atomically: true, encoding: .utf8)
            let status = try run([])
            // Without a log, nginx failed before it opened one.
            let log =
                (try? String(contentsOfFile: folder.path + "/error.log", encoding: .utf8)) ?? ""
            try #require(status == 0, "\(log)")
        }

        func stop() {
            // An nginx that never started need not be stopped.
            _ = try? run(["-s", "stop"])
        }

        private func run(_ arguments: [String]) throws -> Int32 {
            let path = try #require(Self.path)
            return try ChildProcess(
                [path, "-p", folder.path, "-c", main, "-e", folder.path + "/error.log"] + arguments,
                error: .nullDevice
            ).end()
        }

        /// Posts JSON through nginx.
        func ask(_ path: String, _ body: String, _ more: [String] = []) throws -> Answer {
            try curl(["-H", "Content-Type: text/plain", "-d", body, url + path] + more)
        }

        /// Sends a request with curl, which uses HTTP/2 here.
        func curl(_ arguments: [String]) throws -> Answer {
            let output = Pipe()
            let process = try ChildProcess(
                ["curl", "-s", "--cacert", certificate, "-w", "\n%{http_code}"] + arguments,
                output: output.fileHandleForWriting)
            try output.fileHandleForWriting.close()
            let data = try output.fileHandleForReading.readToEnd() ?? Data()
            process.end()
            let text = String(decoding: data, as: UTF8.self)
            let end = text.lastIndex(of: "\n") ?? text.startIndex
            return Answer(
                status: Int(text[end...].dropFirst()) ?? 0, body: String(text[..<end]))
        }

        /// Ports that no process uses: below those that the kernel assigns, and a different one for each nginx of the
        /// tests.
        private static let lastPort = Mutex(
            20_000 + Int(ProcessInfo.processInfo.processIdentifier) % 8_000)

        private static func freePort() throws -> Int {
            for _ in 0..<100 {
                let port = lastPort.withLock { last in
                    last += 1
                    return last
                }
                if RawConnection.isFree(port: port) { return port }
            }
            throw POSIXError(.EADDRINUSE)
        }
    }
#endif
