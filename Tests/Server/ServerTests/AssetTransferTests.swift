import Foundation
import Hummingbird
import Logging
import StratusRecords
import StratusService
import StratusStorage
import StratusWire
import Testing

@testable import StratusServer

/// The bytes of assets over HTTP.
@Suite struct AssetTransferTests {
    private static let bytes = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }

    // MARK: Up

    @Test func rawBodyAndFormUploadTheSameAsset() async throws {
        try await withService { server in
            let raw = try await server.upload(Self.bytes)
            #expect(raw.status == 200)
            let form =
                Array("--frontier\r\nContent-Disposition: form-data; name=\"note\"\r\n\r\nhi".utf8)
                + Array(
                    ("\r\n--frontier\r\nContent-Type: image/png\r\n"
                        + "Content-Disposition: form-data; name=\"file\"; filename=\"x.png\"\r\n\r\n")
                        .utf8)
                + Self.bytes + Array("\r\n--frontier--\r\n".utf8)
            let formed = try await server.upload(
                form, "Content-Type: multipart/form-data; boundary=\"frontier\"\r\n")
            #expect(try raw.asset().fileChecksum == formed.asset().fileChecksum)
            #expect(try formed.asset().sizeBytes == 100_000)
            let broken = try await server.upload(
                Array("--frontier--\r\n".utf8),
                "Content-Type: multipart/form-data; boundary=frontier\r\n")
            #expect(broken.status == 400)
        }
    }

    /// Clients call the part what they like.
    @Test(arguments: ["files", "upload", "data"])
    func firstFileOfAFormIsTheAsset(_ name: String) async throws {
        try await withService { server in
            let part =
                "Content-Disposition: form-data; name=\"\(name)\"; filename=\"x.png\"\r\n\r\n"
            let other = "Content-Disposition: form-data; name=\"b\"; filename=\"y.png\"\r\n\r\nb"
            let form =
                Array("--frontier\r\n\(part)".utf8) + Self.bytes
                + Array("\r\n--frontier\r\n\(other)\r\n--frontier--\r\n".utf8)
            let answer = try await server.upload(
                form, "Content-Type: multipart/form-data; boundary=frontier\r\n")
            #expect(answer.status == 200)
            #expect(try answer.asset().sizeBytes == 100_000)
        }
    }

    @Test(
        arguments: [
            ("a.txt", "attachment; filename=\"a.txt\"; filename*=UTF-8''a.txt"),
            (
                "%C3%9Cber%22.txt",
                "attachment; filename=\"_ber_.txt\"; filename*=UTF-8''%C3%9Cber%22.txt"
            ),
            (
                "..%2F..%2Fetc%0D%0Ax",
                "attachment; filename=\".._.._etc__x\"; filename*=UTF-8''.._.._etc__x"
            ),
            ("$%7Bf%7D", nil), ("${f}", nil), ("", nil), ("..", nil), ("%FF", nil),
            (String(repeating: "x", count: 256), nil),
        ] as [(String, String?)])
    func downloadIsCalledWhatItsAddressSays(_ segment: String, _ header: String?) {
        #expect(AssetName(inAddress: segment)?.contentDisposition == header)
    }

    @Test func tooLargeContentLengthIsRefusedBeforeBody() async throws {
        try await withService { server in
            // No byte of the body is ever sent.
            let answer = try await server.exchange(
                "POST /assets/put/\(server.uploadToken()) HTTP/1.1\r\nHost: localhost\r\n"
                    + "Content-Length: 50000001\r\n\r\n")
            #expect(answer.status == 413)
            #expect(answer.text.contains(#""stratusErrorCode":27"#))
            let unknown = try await server.exchange(
                "POST /assets/put/xyz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n")
            #expect(unknown.status == 404)
        }
    }

    @Test func chunkedUploadBeyondSizeLimitIsRefused() async throws {
        var limits = Limits()
        limits.assetBytes = 50_000
        try await withService(limits) { server in
            let chunk = "C350\r\n" + String(repeating: "x", count: 50_000) + "\r\n"
            let answer = try await server.exchange(
                "POST /assets/put/\(server.uploadToken()) HTTP/1.1\r\nHost: localhost\r\n"
                    + "Transfer-Encoding: chunked\r\n\r\n" + chunk + "1\r\nx\r\n")
            #expect(answer.status == 413)
        }
    }

    @Test func stalledUploadTimesOut() async throws {
        var limits = Limits()
        limits.assetIdleSeconds = 0.1
        try await withService(limits) { server in
            let answer = try await server.exchange(
                "POST /assets/put/\(server.uploadToken()) HTTP/1.1\r\nHost: localhost\r\n"
                    + "Content-Length: 100\r\n\r\nabc")
            #expect(answer.status == 408)
        }
    }

    // MARK: Down

    @Test func assetIsDownloadedWholeOrByRange() async throws {
        try await withService { server in
            let path = try await server.savedPath(Self.bytes)
            #expect(path.hasSuffix("/${f}"))
            let whole = try await server.get(path)
            #expect(whole.status == 200)
            #expect(whole.body == Self.bytes)
            #expect(whole.headers["content-type"] == "application/octet-stream")
            #expect(whole.headers["content-disposition"] == "attachment")
            #expect(whole.headers["x-content-type-options"] == "nosniff")
            #expect(whole.headers["accept-ranges"] == "bytes")
            let named = path.replacingOccurrences(of: "${f}", with: "photo%20of%20Ida.png")
            let file = try await server.get(named)
            #expect(file.body == Self.bytes)
            #expect(
                file.headers["content-disposition"]
                    == "attachment; filename=\"photo of Ida.png\"; "
                    + "filename*=UTF-8''photo%20of%20Ida.png")
            let bare = String(path.dropLast("/${f}".count))
            #expect(try await server.get(bare).body == Self.bytes)

            let part = try await server.get(path, "Range: bytes=99990-\r\n")
            #expect(part.status == 206)
            #expect(part.body == Array(Self.bytes[99_990...]))
            #expect(part.headers["content-range"] == "bytes 99990-99999/100000")
            let behind = try await server.get(path, "Range: bytes=100000-\r\n")
            #expect(behind.status == 416)
            #expect(behind.headers["content-range"] == "bytes */100000")

            let tag = try #require(whole.headers["etag"])
            let same = try await server.get(path, "Range: bytes=0-0\r\nIf-Range: \(tag)\r\n")
            #expect(same.status == 206 && same.body == [0])
            let other = try await server.get(path, "Range: bytes=0-0\r\nIf-Range: \"x\"\r\n")
            #expect(other.status == 200 && other.body == Self.bytes)
            let known = try await server.get(path, "If-None-Match: \(tag)\r\n")
            #expect(known.status == 304 && known.body.isEmpty)
        }
    }

    @Test func assetHeadRequestReturnsNoBody() async throws {
        try await withService { server in
            let path = try await server.savedPath(Self.bytes)
            let head = try await server.exchange(
                "HEAD \(path) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            #expect(head.status == 200)
            #expect(head.headers["content-length"] == "100000")
            #expect(head.body.isEmpty)
        }
    }

    /// A page of another origin may fetch what it was given the address of, and sees the ranges.
    @Test func assetDownloadAllowsOtherOrigins() async throws {
        try await withService { server in
            let path = try await server.savedPath([1, 2])
            let answer = try await server.get(path, "Origin: https://app.example.org\r\n")
            #expect(
                answer.headers["access-control-allow-origin"] == "https://app.example.org")
            #expect(
                answer.headers["access-control-expose-headers"]?.contains("Content-Range") == true)
        }
    }

    @Test func alteredDownloadURLIsNotFound() async throws {
        try await withService { server in
            let path = try await server.savedPath([1, 2])
            for index in [13, 40, 90] {
                var changed = Array(path)
                changed[index] = changed[index] == "A" ? "B" : "A"
                #expect(try await server.get(String(changed)).status == 404)
            }
            let upload = try await server.uploadToken()
            #expect(try await server.get("/assets/get/\(upload)").status == 404)
        }
    }

    // MARK: Pieces

    @Test(arguments: [
        ("bytes=0-0", ByteRange.part(0..<1)), ("bytes=2-", .part(2..<10)),
        ("bytes=-3", .part(7..<10)), ("bytes=-30", .part(0..<10)), ("bytes=5-99", .part(5..<10)),
        ("bytes=10-", .unsatisfiable), ("bytes=-0", .unsatisfiable), ("bytes=5-4", .whole),
        ("bytes=0-1,3-4", .whole), ("bytes=-", .whole), ("bytes=a-b", .whole),
        ("items=0-1", .whole), ("bytes=99999999999999999999-", .whole), ("bytes=+1-2", .whole),
    ])
    func rangeHeaderIsParsedPerStandard(header: String, range: ByteRange) {
        #expect(ByteRange(header, sizeBytes: 10) == range)
    }

    @Test func emptyAssetSatisfiesNoRange() {
        #expect(ByteRange("bytes=0-", sizeBytes: 0) == .unsatisfiable)
        #expect(ByteRange("bytes=-5", sizeBytes: 0) == .unsatisfiable)
    }

    /// However the network cuts a form, the file in it is the same.
    @Test(arguments: 1...40)
    func multipartFormParsesInPiecesOfAnySize(pieceBytes: Int) throws {
        let file = Array("\r\n--fron\r\n-\r\n--frontie".utf8)
        let body =
            Array("preamble\r\n--frontier\r\nContent-Disposition: form-data; name=a\r\n\r\n".utf8)
            + Array("\r\n--frontier\r\nContent-Disposition: form-data; name=file\r\n\r\n".utf8)
            + file + Array("\r\n--frontier\r\nContent-Disposition: form-data\r\n\r\nz".utf8)
        var form = FormFile(boundary: Array("frontier".utf8))
        var found: [UInt8] = []
        for start in stride(from: 0, to: body.count, by: pieceBytes) {
            found += try form.read(Array(body[start..<min(start + pieceBytes, body.count)]))
        }
        #expect(found == file)
        #expect(form.isComplete)
    }

    @Test func onlyMultipartFormsHaveBoundary() {
        #expect(FormFile.boundary(contentType: "image/png") == nil)
        #expect(FormFile.boundary(contentType: "multipart/form-data") == nil)
        #expect(
            FormFile.boundary(contentType: "multipart/form-data; charset=x; boundary=\"a b\"")
                == Array("ab".utf8))
    }

    // MARK: -

    /// Runs a server with the user alice while `body` runs.
    private func withService(
        _ limits: Limits = Limits(), _ body: @escaping @Sendable (Server) async throws -> Void
    ) async throws {
        let service = CloudService(
            storage: SQLiteStorageEngine.inMemory(),
            settings: ServiceSettings(isForDevelopment: true, limits: limits))
        let token = try await service.signInForDevelopment(user: "alice").webAuthToken
        let (ports, port) = AsyncStream<Int>.makeStream()
        let server = try buildServer(
            service, host: "127.0.0.1", port: 0, logger: Logger(label: "test"),
            onListening: { port.yield($0) })
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await server.run() }
            for await number in ports {
                try await body(Server(service: service, token: token, port: number))
                break
            }
            group.cancelAll()
        }
    }
}

/// A running server and a user of it.
private struct Server: Sendable {
    static let address = ContainerAddress(
        container: "iCloud.org.example.Trails", environment: .development)

    let service: CloudService
    let token: String
    let port: Int

    struct Answer {
        var status: Int
        var headers: [String: String]
        var body: [UInt8]

        var text: String { String(decoding: body, as: UTF8.self) }

        func asset() throws -> AssetReceipt {
            try readWire(AssetsUpload.Uploaded.self, from: body).singleFile
        }
    }

    private var credentials: Credentials {
        Credentials(
            apiToken: ServiceSettings.developmentToken, webAuthToken: token, clientID: "phone",
            wantsExtensions: true)
    }

    func uploadToken() async throws -> String {
        let served = try await service.respond(
            to: AssetsUpload.self, .init(tokens: [.init(fieldName: "photo")]), from: credentials,
            at: Self.address, scope: .private)
        guard case .success(let token) = served.answer.items[0] else { return "" }
        return String(token.url.dropFirst("/assets/put/".count))
    }

    func upload(_ body: [UInt8], _ headers: String = "") async throws -> Answer {
        try await exchange(
            "POST /assets/put/\(uploadToken()) HTTP/1.1\r\nHost: localhost\r\n\(headers)"
                + "Connection: close\r\nContent-Length: \(body.count)\r\n\r\n", body)
    }

    /// The path of the download address of a saved asset.
    func savedPath(_ bytes: [UInt8]) async throws -> String {
        let asset = try await upload(bytes).asset()
        let served = try await service.respond(
            to: RecordsModify.self,
            .init(operations: [
                .init(
                    .create,
                    RecordDictionary(
                        recordName: "a", recordType: "Hut",
                        fields: .values([Field(name: "photo", value: .asset(asset))])))
            ]), from: credentials, at: Self.address, scope: .private)
        guard case .record(let record) = served.answer.records[0],
            case .asset(let saved)? = try record.fields.values()[0].value
        else { throw POSIXError(.ENOENT) }
        return saved.downloadURL ?? ""
    }

    func get(_ path: String, _ headers: String = "") async throws -> Answer {
        try await exchange(
            "GET \(path) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\(headers)\r\n")
    }

    func exchange(_ head: String, _ body: [UInt8] = []) async throws -> Answer {
        let port = port
        let bytes = try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread {
                continuation.resume(
                    with: Result { try Self.exchange(port, Array(head.utf8) + body) })
            }
        }
        return try #require(Self.answer(in: bytes))
    }

    /// Nil while the head is not complete.
    private static func answer(in bytes: [UInt8]) -> Answer? {
        guard let end = bytes.firstRange(of: Array("\r\n\r\n".utf8))?.lowerBound else {
            return nil
        }
        let lines = String(decoding: bytes[..<end], as: UTF8.self).components(separatedBy: "\r\n")
        var headers: [String: String] = [:]
        for line in lines.dropFirst() {
            let pair = line.split(separator: ":", maxSplits: 1)
            guard pair.count == 2 else { continue }
            headers[pair[0].lowercased()] = pair[1].trimmingCharacters(in: .whitespaces)
        }
        return Answer(
            status: Int(lines[0].split(separator: " ").dropFirst().first ?? "") ?? 0,
            headers: headers, body: Array(bytes.dropFirst(end + 4)))
    }

    private static func exchange(_ port: Int, _ request: [UInt8]) throws -> [UInt8] {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        let status = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard status == 0 else { throw POSIXError(.ECONNREFUSED) }
        var rest = request[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            // The server may have heard enough.
            guard count > 0 else { break }
            rest = rest.dropFirst(count)
        }
        var answer: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while case let count = recv(descriptor, &chunk, chunk.count, 0), count > 0 {
            answer += chunk[..<count]
            // A refused upload leaves the closing to its client, which may still send.
            if let sofar = Self.answer(in: answer), sofar.status >= 400,
                sofar.body.count == sofar.headers["content-length"].flatMap({ Int($0) })
            {
                break
            }
        }
        return answer
    }
}
