import StratusRecords
import Testing

@testable import StratusServer

/// The names of uploaded files.
@Suite struct ServerFileNameTests {
    private static let bytes = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }

    /// A download has the file name of the upload, unless the address gives another one.
    @Test(
        arguments: [
            ("filename=\"Gipfel 3.png\"", "Gipfel 3.png"),
            ("filename=\"G.png\"; filename*=UTF-8''H%C3%BCtte%203.png", "Hütte 3.png"),
            ("filename=\"Hütte %22A%22.png\"", "Hütte \"A\".png"),
            ("filename=\"C:\\fakepath\\a.png\"", "C:_fakepath_a.png"),
            ("filename=plain.txt", "plain.txt"),
            ("filename=\"a;b=c.txt\"", "a;b=c.txt"), ("filename=\"\"", nil),
            ("filename=\"..\"", nil),
            ("filename*=iso-8859-1''a%FF.txt; filename=\"b.txt\"", "b.txt"),
        ] as [(String, String?)])
    func downloadHasTheFileNameOfTheForm(_ parameter: String, _ name: String?) async throws {
        try await AssetServer.run { server in
            let form =
                Array(
                    "--x\r\nContent-Disposition: form-data; name=\"a\"; \(parameter)\r\n\r\n".utf8)
                + Self.bytes + Array("\r\n--x--\r\n".utf8)
            let path = try await server.savedPath(
                form, "Content-Type: multipart/form-data; boundary=x\r\n")
            #expect(path.hasSuffix("/${f}"))
            for place in [path, String(path.dropLast("/${f}".count))] {
                let file = try await server.get(place)
                #expect(file.body == Self.bytes)
                #expect(
                    file.headers["content-disposition"]
                        == (name.map { AssetName(inAddress: $0)?.contentDisposition }
                            ?? "attachment"))
            }
            let renamed = try await server.get(path.replacing("${f}", with: "other.png"))
            #expect(renamed.headers["content-disposition"]?.contains("other.png") == true)
        }
    }

    /// A client that sends the bytes without a form may give the file name in a header.
    @Test func downloadHasTheFileNameOfTheRawUpload() async throws {
        try await AssetServer.run { server in
            let named = "Content-Disposition: attachment; filename=\"G.png\"\r\n"
            let path = try await server.savedPath(Self.bytes, named)
            #expect(
                try await server.get(path).headers["content-disposition"]
                    == "attachment; filename=\"G.png\"; filename*=UTF-8''G.png")
            let token = try await server.uploadToken()
            let answer = try await server.exchange(
                "PATCH /assets/put/\(token) HTTP/1.1\r\nHost: localhost\r\nUpload-Offset: 0\r\n"
                    + "Upload-Complete: ?1\r\n\(named)Connection: close\r\n"
                    + "Content-Length: \(Self.bytes.count)\r\n\r\n", Self.bytes)
            let second = try await server.savedPath(of: answer.asset(), recordName: "b")
            #expect(
                try await server.get(second).headers["content-disposition"]?.contains("G.png")
                    == true)
        }
    }
}
