import Foundation
import StratusRecords
import StratusService
import StratusWire
import Testing

@testable import StratusServer

/// The bytes of assets over HTTP.
@Suite struct AssetTransferTests {
    private static let bytes = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }

    // MARK: Uploads

    @Test func rawBodyAndFormUploadTheSameAsset() async throws {
        try await AssetServer.run { server in
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

    /// The part of the form may have any name.
    @Test(arguments: ["files", "upload", "data"])
    func firstFileOfAFormIsTheAsset(_ name: String) async throws {
        try await AssetServer.run { server in
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
    func fileNameInTheAddressIsTheDownloadsFileName(_ segment: String, _ header: String?) {
        #expect(AssetName(inAddress: segment)?.contentDisposition == header)
    }

    @Test func tooLargeContentLengthIsRefusedBeforeBody() async throws {
        try await AssetServer.run { server in
            // The body is announced and never sent.
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

    /// The body is announced and never sent: a server that read it first would time out after half a second.
    @Test(arguments: ["POST", "PATCH"])
    func contentLengthBeyondTheQuotaIsRefusedBeforeBody(_ method: String) async throws {
        var limits = Limits()
        limits.privateDatabaseBytes = 10_000
        limits.assetIdleSeconds = 0.5
        try await AssetServer.run(limits) { server in
            let answer = try await server.exchange(
                "\(method) /assets/put/\(server.uploadToken()) HTTP/1.1\r\nHost: localhost\r\n"
                    + "Upload-Offset: 0\r\nUpload-Complete: ?1\r\nContent-Length: 10001\r\n\r\n")
            #expect(answer.text.contains("QUOTA_EXCEEDED"), "\(answer)")
        }
    }

    @Test func chunkedUploadBeyondSizeLimitIsRefused() async throws {
        var limits = Limits()
        limits.assetBytes = 50_000
        try await AssetServer.run(limits) { server in
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
        try await AssetServer.run(limits) { server in
            let answer = try await server.exchange(
                "POST /assets/put/\(server.uploadToken()) HTTP/1.1\r\nHost: localhost\r\n"
                    + "Content-Length: 100\r\n\r\nabc")
            #expect(answer.status == 408)
        }
    }

    // MARK: Downloads

    @Test func assetIsDownloadedWholeOrByRange() async throws {
        try await AssetServer.run { server in
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
        try await AssetServer.run { server in
            let path = try await server.savedPath(Self.bytes)
            let head = try await server.exchange(
                "HEAD \(path) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            #expect(head.status == 200)
            #expect(head.headers["content-length"] == "100000")
            #expect(head.body.isEmpty)
        }
    }

    /// A page of another origin may fetch an asset whose address it was given, and may read the range headers.
    @Test func assetDownloadAllowsOtherOrigins() async throws {
        try await AssetServer.run { server in
            let path = try await server.savedPath([1, 2])
            let answer = try await server.get(path, "Origin: https://app.example.org\r\n")
            #expect(
                answer.headers["access-control-allow-origin"] == "https://app.example.org")
            #expect(
                answer.headers["access-control-expose-headers"]?.contains("Content-Range") == true)
            #expect(answer.headers["vary"] == "Origin")
            // A picture in a page is fetched without an origin, and this answer is kept by the browser for an hour.
            let picture = try await server.get(path)
            #expect(picture.headers["cache-control"]?.contains("max-age") == true)
            #expect(picture.headers["vary"] == "Origin")
        }
    }

    @Test func alteredDownloadURLIsNotFound() async throws {
        try await AssetServer.run { server in
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

    /// The file in a form is the same wherever the network splits the form.
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
}
