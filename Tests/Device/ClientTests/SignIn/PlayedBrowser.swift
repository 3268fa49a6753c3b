import AsyncHTTPClient
import Foundation
import NIOCore
import Testing

/// A person's browser: it opens a page, fills in its form, and follows the answer.
struct PlayedBrowser: Sendable {
    /// An answer, and its redirect.
    struct Page: Sendable {
        var status: Int
        var text: String
        var location: String?
        var cookie: String?
        var policy: String?

        /// The hidden fields of the page's form.
        var fields: [String: String] {
            var fields: [String: String] = [:]
            for match in text.matches(
                of: /<input type="hidden" name="(\w+)" value="([^"]*)">/)
            {
                fields[String(match.1)] = String(match.2).replacing("&amp;", with: "&")
            }
            return fields
        }
    }

    private let client: HTTPClient

    /// Runs a body with a browser that is closed after it.
    static func run<Value>(_ body: (PlayedBrowser) async throws -> Value) async throws -> Value {
        let client = HTTPClient(
            eventLoopGroupProvider: .singleton,
            configuration: .init(redirectConfiguration: .disallow))
        let value: Result<Value, any Error>
        do {
            value = .success(try await body(PlayedBrowser(client: client)))
        } catch {
            value = .failure(error)
        }
        try await client.shutdown()
        return try value.get()
    }

    func get(_ url: String, headers: [String: String] = [:]) async throws -> Page {
        try await send(HTTPClientRequest(url: url), headers)
    }

    func post(
        _ url: String, _ fields: [String: String] = [:], headers: [String: String] = [:]
    ) async throws -> Page {
        var request = HTTPClientRequest(url: url)
        request.method = .POST
        let body = fields.map { "\($0)=\(Self.escaped($1))" }.joined(separator: "&")
        request.body = .bytes(ByteBuffer(string: body))
        return try await send(
            request,
            headers.merging(["Content-Type": "application/x-www-form-urlencoded"]) { a, _ in a })
    }

    private func send(
        _ request: HTTPClientRequest, _ headers: [String: String]
    ) async throws -> Page {
        var request = request
        for (name, value) in headers { request.headers.replaceOrAdd(name: name, value: value) }
        let response = try await client.execute(request, timeout: .seconds(30))
        let text = String(buffer: try await response.body.collect(upTo: 1_000_000))
        return Page(
            status: Int(response.status.code), text: text,
            location: response.headers.first(name: "Location"),
            cookie: response.headers.first(name: "Set-Cookie")
                .flatMap { $0.split(separator: ";").first }.map(String.init),
            policy: response.headers.first(name: "Content-Security-Policy"))
    }

    /// Signs in on a page, up to the answer that redirects to the app.
    func signIn(
        on page: URL, emailAddress: String, password: String = "correct horse"
    ) async throws -> Page {
        let form = try await get(page.absoluteString)
        #expect(form.status == 200)
        let origin = "\(page.scheme ?? "")://\(page.host() ?? ""):\(page.port ?? 80)"
        var fields = form.fields
        fields["email"] = emailAddress
        fields["password"] = password
        fields["stay"] = "1"
        return try await post(
            origin + "/auth/sign-in", fields,
            headers: [
                "Cookie": try #require(form.cookie), "Origin": origin,
                "Sec-Fetch-Site": "same-origin",
            ])
    }

    static func escaped(_ text: String) -> String {
        text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
    }
}
