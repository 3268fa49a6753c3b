import Foundation
import TestProcesses
import Testing

/// Uploads in several pieces, across ended connections and restarts of the service.
@Suite(.serialized) struct KilledUploadTests {
    private static let database =
        "/database/1/iCloud.org.example.Films/development/private/"

    /// A user who uploads.
    private struct Uploader {
        let service: AttackedService
        var query = "?ckAPIToken=development"

        init(_ service: AttackedService) throws {
            self.service = service
            let signIn = try object(
                RawConnection(attacking: service.port)
                    .ask(posting("/dev/sign-in", #"{"user":"ida"}"#)).body)
            let token = try #require(signIn["ckWebAuthToken"] as? String)
            query +=
                "&ckWebAuthToken="
                + (token.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? "")
        }

        func address() throws -> String {
            let answer = try object(
                RawConnection(attacking: service.port).ask(
                    posting(
                        database + "assets/upload" + query,
                        #"{"tokens":[{"recordType":"Film","fieldName":"film"}]}"#)
                ).body)
            let url = try #require((answer["tokens"] as? [[String: Any]])?[0]["url"] as? String)
            return String(url.dropFirst("http://localhost".count))
        }
    }

    private static func object(_ text: String) throws -> [String: Any] {
        try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
    }

    private static func asking(
        _ method: String, _ address: String, _ headers: String = ""
    ) -> String {
        "\(method) \(address) HTTP/1.1\r\nHost: localhost\r\n\(headers)\r\n"
    }

    private static func patch(
        _ address: String, at offset: Int, bytes: Int, isLast: Bool
    ) -> String {
        asking(
            "PATCH", address,
            "Upload-Offset: \(offset)\r\nUpload-Complete: ?\(isLast ? 1 : 0)\r\n"
                + "Content-Length: \(bytes)\r\n")
    }

    private static func offset(_ answer: (status: Int, head: String, body: String)) -> Int? {
        answer.head.split(separator: "\r\n").first { $0.lowercased().hasPrefix("upload-offset:") }
            .flatMap { Int($0.dropFirst(14).trimmingCharacters(in: .whitespaces)) }
    }

    private static func kept(_ address: String, _ service: AttackedService) throws -> Int {
        let answer = try RawConnection(attacking: service.port).ask(asking("HEAD", address))
        #expect(answer.status == 204, "\(answer)")
        return try #require(offset(answer), "\(answer.head)")
    }

    private static let film = (0..<12_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 9) }

    /// The process is killed while bytes arrive; the next process continues with what was stored.
    @Test func killedServiceKeepsStoredUploadBytes() throws {
        let folder = AttackedFolder()
        var service = try AttackedService(["--dev"], storage: ["--data", folder.path])
        var uploader = try Uploader(service)
        let address = try uploader.address()
        #expect(try Self.kept(address, service) == 0)
        var offset = 0
        for _ in 0..<2 {
            let connection = try RawConnection(attacking: service.port)
            try connection.send(
                Self.patch(address, at: offset, bytes: Self.film.count - offset, isLast: true))
            try connection.send(Array(Self.film[offset..<(offset + 4_000_000)]))
            // Until half of it is on the disk; the stored length can be asked for while more arrives.
            let end = ContinuousClock.now + .seconds(20)
            var now = 0
            while now < offset + 2_000_000, ContinuousClock.now < end {
                now = try Self.kept(address, service)
            }
            #expect(now >= offset + 2_000_000)
            service.end()
            service = try AttackedService(["--dev"], storage: ["--data", folder.path])
            offset = try Self.kept(address, service)
            #expect(offset >= now)
        }
        let rest = Array(Self.film[offset...])
        let connection = try RawConnection(attacking: service.port)
        try connection.send(Self.patch(address, at: offset, bytes: rest.count, isLast: true))
        try connection.send(rest)
        let whole = connection.readAnswer()
        #expect(whole.status == 200, "\(whole)")
        // The same result as an upload in one piece.
        uploader = try Uploader(service)
        let posted = try RawConnection(attacking: service.port)
        try posted.send(
            Self.asking(
                "POST", try uploader.address(), "Content-Length: \(Self.film.count)\r\n"))
        try posted.send(Self.film)
        let one = try #require(
            try Self.object(posted.readAnswer().body)["singleFile"] as? [String: Any])
        let two = try #require(try Self.object(whole.body)["singleFile"] as? [String: Any])
        #expect(one["fileChecksum"] as? String == two["fileChecksum"] as? String)
        #expect(two["size"] as? Int == Self.film.count)
        // It is an asset now, and no longer an upload that can be continued.
        #expect(try Self.kept(address, service) == 0)
    }

    /// Bytes at another offset than the stored length are refused, and change nothing.
    @Test func bytesAtAnotherOffsetAreRefused() throws {
        let service = try AttackedService(["--dev", "--limit", "assetBytes=100_000"])
        let address = try Uploader(service).address()
        func send(_ offset: Int, _ bytes: Int, isLast: Bool = false) throws -> (
            status: Int, head: String, body: String
        ) {
            let connection = try RawConnection(attacking: service.port)
            try connection.send(Self.patch(address, at: offset, bytes: bytes, isLast: isLast))
            try connection.send(Array(Self.film[..<bytes]))
            return connection.readAnswer()
        }
        #expect(Self.offset(try send(0, 40_000)) == 40_000)
        for other in [0, 39_999, 40_001, 1_000_000] {
            let refused = try send(other, 10_000)
            #expect(refused.status == 409 && Self.offset(refused) == 40_000, "\(refused)")
        }
        #expect(try Self.kept(address, service) == 40_000)
        for headers in [
            "", "Upload-Offset: 40000\r\n", "Upload-Offset: -1\r\nUpload-Complete: ?1\r\n",
        ] {
            let answer = try RawConnection(attacking: service.port)
                .ask(Self.asking("PATCH", address, headers + "Content-Length: 0\r\n"))
            #expect(answer.status == 400, "\(answer)")
        }
        // An upload that is larger than an asset may be is discarded.
        #expect(try send(40_000, 70_000, isLast: true).status == 413)
        #expect(try Self.kept(address, service) == 0)
        #expect(Self.offset(try send(0, 50_000)) == 50_000)
        let left = try RawConnection(attacking: service.port).ask(Self.asking("DELETE", address))
        #expect(left.status == 204)
        #expect(try Self.kept(address, service) == 0)
        #expect(try send(0, 50_000, isLast: true).status == 200)
    }

    /// Unfinished uploads count: a user cannot leave more of them than may be in progress.
    @Test func unfinishedUploadsAreLimited() throws {
        let service = try AttackedService(
            ["--dev", "--limit", "uploadsPerUser=3", "--limit", "privateDatabaseBytes=1_000_000"])
        let uploader = try Uploader(service)
        func leave(_ bytes: Int) throws -> Int {
            let connection = try RawConnection(attacking: service.port)
            try connection.send(
                Self.patch(try uploader.address(), at: 0, bytes: bytes, isLast: false))
            try connection.send(Array(Self.film[..<bytes]))
            return connection.readAnswer().status
        }
        #expect(try leave(600_000) == 204)
        // Together they exceed the quota.
        #expect(try leave(600_000) == 413)
        #expect(try leave(100_000) == 204)
        #expect(try leave(100_000) == 204)
        #expect(try leave(100_000) == 429)
    }
}
