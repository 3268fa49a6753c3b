import AsyncHTTPClient
import Foundation

/// The limit: the same pages, one after the other, through the same HTTP library, and nothing done
/// with them but to find the next page's token.
struct BareDownload {
    let url: String
    private(set) var byteCount = 0
    private(set) var pageCount = 0
    private(set) var seconds: Double = 0

    init(url: String) {
        self.url = url
    }

    mutating func run() async throws {
        var signIn = HTTPClientRequest(url: url + "/dev/sign-in")
        signIn.method = .POST
        signIn.headers.add(name: "Content-Type", value: "application/json")
        signIn.body = .bytes(Data(#"{"user":"alice"}"#.utf8))
        let (answer, _) = try await Self.send(signIn)
        var session = try Self.text(of: "ckWebAuthToken", in: answer)

        let start = ContinuousClock.now
        var token: String?
        var moreComing = true
        while moreComing {
            let (page, next) = try await Self.send(request(session, since: token))
            byteCount += page.count
            pageCount += 1
            token = try Self.text(of: "syncToken", in: page)
            moreComing =
                page.range(of: Data(#""moreComing":true"#.utf8), options: .backwards) != nil
            session = next ?? session
        }
        seconds = (ContinuousClock.now - start).seconds
    }

    private func request(_ session: String, since token: String?) -> HTTPClientRequest {
        let escaped =
            session.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? session
        var request = HTTPClientRequest(
            url: "\(url)/database/1/\(Client.container)/development/private/changes/zone"
                + "?ckAPIToken=development&ckWebAuthToken=\(escaped)&stratusExtensions=1")
        request.method = .POST
        request.headers.add(name: "Content-Type", value: "application/json")
        let since = token.map { #","syncToken":"\#($0)""# } ?? ""
        request.body = .bytes(
            Data(#"{"zones":[{"zoneID":{"zoneName":"Items"}\#(since)}]}"#.utf8))
        return request
    }

    /// - Returns: the answer's body, and the session of the next request.
    private static func send(_ request: HTTPClientRequest) async throws -> (Data, String?) {
        let response = try await HTTPClient.shared.execute(request, timeout: .seconds(60))
        let body = try await response.body.collect(upTo: 256_000_000)
        guard response.status.code == 200 else {
            throw Failure(text: String(decoding: body.readableBytesView, as: UTF8.self))
        }
        return (
            Data(body.readableBytesView),
            response.headers.first(name: "X-Apple-CloudKit-Web-Auth-Token")
        )
    }

    /// The JSON text of the last occurrence of a key, which belongs to the page itself.
    private static func text(of key: String, in body: Data) throws -> String {
        guard let name = body.range(of: Data("\"\(key)\":\"".utf8), options: .backwards),
            let end = body[name.upperBound...].firstIndex(of: UInt8(ascii: "\""))
        else { throw Failure(text: "There is no \(key) in the answer.") }
        return String(decoding: body[name.upperBound..<end], as: UTF8.self)
    }
}
