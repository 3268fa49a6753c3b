import Foundation
import TestProcesses
import Testing

/// Attacks with HTTP/2 connections, and with bodies in gzip.
@Suite(.serialized) struct StreamAttackTests {
    private static let path =
        "/database/1/iCloud.org.example.Doors/development/public/records/query?ckAPIToken=development"
    private static let megabytes = isLongForm ? 512 : 130

    private static func service() throws -> AttackedService {
        let certificate = try AttackedCertificate()
        defer { withExtendedLifetime(certificate) {} }
        return try AttackedService(
            ["--dev"] + certificate.arguments
                + (isLongForm ? [] : ["--limit", "memoryBytes=32_000_000"]))
    }

    /// Whether another client is served.
    private static func servesOthers(_ service: AttackedService) throws -> Bool {
        try FrameConnection(port: service.port).isServed("/health", stream: 1)
    }

    /// CVE-2023-44487: requests that are cancelled at once, so that they never count as open.
    @Test func rapidResetsEndTheirConnection() throws {
        let service = try Self.service()
        let attacker = try FrameConnection(port: service.port)
        for batch in 0..<40 {
            var frames: [UInt8] = []
            for number in 0..<50 {
                let stream = UInt32(1 + 2 * (batch * 50 + number))
                frames += FrameConnection.request("POST", Self.path, stream: stream, ends: false)
                frames += FrameConnection.frame(.reset, stream: stream, [0, 0, 0, 8])
            }
            attacker.offer(frames)
        }
        #expect(attacker.isClosed(within: 20))
        #expect(try Self.servesOthers(service))
    }

    /// As many requests as a connection may have, each with a body that is sent except for its end.
    @Test func halfSentStreamsAreHeldWithinBudget() throws {
        let service = try Self.service()
        let piece = FrameConnection.frame(
            .data, stream: 0, Array(repeating: UInt8(ascii: " "), count: 16_000))
        var attackers: [FrameConnection] = []
        var worst = 0
        for _ in 0..<(isLongForm ? 300 : 20) {
            let attacker = try FrameConnection(port: service.port)
            for number in 0..<100 {
                let stream = UInt32(1 + 2 * number)
                var frames = FrameConnection.request("POST", Self.path, stream: stream, ends: false)
                var data = piece
                data.replaceSubrange(5..<9, with: FrameConnection.bytes(of: stream))
                for _ in 0..<4 { frames += data }
                attacker.offer(frames)
            }
            attackers.append(attacker)
            worst = max(worst, try service.residentMegabytes())
        }
        // The answer to a ping shows that the earlier frames were read.
        for attacker in attackers {
            let ping = [UInt8](repeating: 1, count: 8)
            attacker.offer(FrameConnection.frame(.ping, stream: 0, ping))
            _ = attacker.frame(.ping, stream: 0, within: 20)
        }
        worst = max(worst, try service.residentMegabytes())
        #expect(worst < Self.megabytes, "\(worst) MB")
        #expect(try Self.servesOthers(service))
    }

    /// CVE-2024-27316: a head that never ends.
    @Test func endlessHeadEndsItsConnection() throws {
        let service = try Self.service()
        let attacker = try FrameConnection(port: service.port)
        attacker.offer(
            FrameConnection.frame(.headers, stream: 1, FrameConnection.head("GET", "/health")))
        let more = FrameConnection.frame(
            .continuation, stream: 1,
            FrameConnection.header("x-more", String(repeating: "x", count: 8_000)))
        for _ in 0..<500 { attacker.offer(more) }
        #expect(attacker.isClosed(within: 20))
        #expect(try service.residentMegabytes() < Self.megabytes)
        #expect(try Self.servesOthers(service))
    }

    /// A few bytes that refer to a long header in the table many times.
    @Test func headWithRepeatedTableReferencesIsRefused() throws {
        let service = try Self.service()
        let attacker = try FrameConnection(port: service.port)
        // 0x40: stored in the table as its first dynamic entry, 62.
        let kept =
            [UInt8(0x40)]
            + FrameConnection.header(
                "x-more", String(repeating: "x", count: 3_900)
            ).dropFirst()
        let head =
            FrameConnection.head("GET", "/health") + kept
            + [UInt8](repeating: 0x80 | 62, count: 10_000)
        attacker.offer(FrameConnection.frame(.headers, flags: 5, stream: 1, head))
        #expect(attacker.frame(.headers, stream: 1, within: 3)?.body.first != 0x88)
        #expect(try service.residentMegabytes() < Self.megabytes)
        #expect(try Self.servesOthers(service))
    }

    /// More headers than a request may have, all of them short: the connection ends.
    @Test func headOfManyHeadersIsRefused() throws {
        let service = try Self.service()
        let attacker = try FrameConnection(port: service.port)
        let many = (0..<150).flatMap { FrameConnection.header("x-\($0)", "1") }
        attacker.offer(
            FrameConnection.frame(
                .headers, flags: 5, stream: 1, FrameConnection.head("GET", "/health") + many))
        #expect(attacker.frame(.headers, stream: 1, within: 3)?.body.first != 0x88)
        #expect(try Self.servesOthers(service))
    }

    /// Frames that no client sends: each ends its own stream or connection, and no other.
    @Test func malformedFramesEndOnlyTheirConnection() throws {
        let service = try Self.service()
        let head = FrameConnection.head("GET", "/health")
        func headers(_ block: [UInt8], flags: UInt8 = 5, stream: UInt32 = 1) -> [UInt8] {
            FrameConnection.frame(.headers, flags: flags, stream: stream, block)
        }
        let whole = headers(head, flags: 4)
        let attacks: [[UInt8]] = [
            headers([]), headers(FrameConnection.header(":method", "GET")),
            headers(head + FrameConnection.header(":path", "/other")),
            headers(head + FrameConnection.header("X-Upper", "1")),
            headers(head + FrameConnection.header("connection", "close")),
            headers(head + FrameConnection.header("te", "gzip")),
            headers(head + FrameConnection.header("content-length", "-1")),
            headers(head + FrameConnection.header("content-length", "7")),
            headers(head + FrameConnection.header(":status", "200")),
            headers(FrameConnection.header("x", "1") + head), headers([0x80]), headers([0xff]),
            headers(FrameConnection.head("GET", "")), headers(FrameConnection.head("", "/")),
            headers(FrameConnection.head("CONNECT", "/")), headers(head, stream: 0),
            headers(head, stream: 2), headers(head) + headers(head),
            whole + headers(FrameConnection.header(":path", "/")),
            whole + headers(FrameConnection.header("content-length", "1")),
            FrameConnection.frame(.data, flags: 1, stream: 1, [1, 2, 3]),
            whole + FrameConnection.frame(.data, flags: 8, stream: 1, [255, 1]),
            FrameConnection.frame(.continuation, flags: 4, stream: 1, head),
            FrameConnection.frame(.settings, stream: 1), [255, 255, 255, 0, 0, 0, 0, 0, 1],
        ]
        for (number, attack) in attacks.enumerated() {
            let attacker = try FrameConnection(port: service.port)
            attacker.offer(attack)
            // Waits for any reaction of the service; it does not answer some of them.
            _ = attacker.isClosed(within: 0.2)
            #expect(try Self.servesOthers(service), "attack \(number)")
        }
    }

    @Test func floodsOfControlFramesEndTheirConnection() throws {
        let service = try Self.service()
        for frame in [
            FrameConnection.frame(.ping, stream: 0, [UInt8](repeating: 1, count: 8)),
            FrameConnection.frame(.settings, stream: 0),
        ] {
            let attacker = try FrameConnection(port: service.port)
            for _ in 0..<2_000 { attacker.offer(frame) }
            #expect(attacker.isClosed(within: 20))
        }
        #expect(try Self.servesOthers(service))
    }

    /// A client that sends nothing once it is connected, with or without TLS.
    @Test func silentConnectionsEnd() throws {
        let certificate = try AttackedCertificate()
        defer { withExtendedLifetime(certificate) {} }
        let service = try AttackedService(
            ["--dev"] + certificate.arguments + [
                "--limit", "requestHeadSeconds=1", "--limit", "connectionIdleSeconds=1",
            ])
        let bare = try RawConnection(attacking: service.port)
        #expect(bare.readToEnd(within: 10) != nil)
        #expect(try FrameConnection(port: service.port).isClosed(within: 10))
    }

    /// 200 MB of spaces in 200 kB, from many clients at once.
    @Test func compressionBombsAreRefusedWithinBudget() throws {
        let service = try AttackedService(
            ["--dev"] + (isLongForm ? [] : ["--limit", "memoryBytes=32_000_000"]))
        let bomb = try Self.bomb()
        var attackers: [RawConnection] = []
        for number in 0..<(isLongForm ? 1_000 : 60) {
            let attacker = try RawConnection(
                attacking: service.port, from: "127.0.0.\(2 + number % 10)")
            try attacker.send(
                posting(
                    Self.path, "", headers: "Content-Encoding: gzip\r\n", announcing: bomb.count))
            try attacker.send(bomb)
            attackers.append(attacker)
        }
        var worst = try service.residentMegabytes()
        for attacker in attackers {
            #expect([413, 429, 503].contains(attacker.readAnswer().status))
            worst = max(worst, try service.residentMegabytes())
        }
        #expect(worst < Self.megabytes, "\(worst) MB")
        let bystander = try RawConnection(attacking: service.port)
        #expect(try bystander.ask(posting("/dev/sign-in", #"{"user":"ida"}"#)).status == 200)
    }

    private static func bomb() throws -> [UInt8] {
        let output = Pipe()
        let bomb = try ChildProcess(
            ["/bin/sh", "-c", "head -c 200000000 /dev/zero | tr '\\0' ' ' | gzip -9"],
            output: output.fileHandleForWriting)
        try output.fileHandleForWriting.close()
        let data = try output.fileHandleForReading.readToEnd() ?? Data()
        #expect(bomb.end() == 0)
        return Array(data)
    }
}
