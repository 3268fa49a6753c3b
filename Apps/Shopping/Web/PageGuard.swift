import HTTPTypes
import Hummingbird
import NIOCore

/// Decides which requests are accepted, and adds headers to every response.
///
/// Any page in the browser can send requests to a port of this machine, and any name can be pointed
/// at it. So the Host must be this server's own, an Origin its own, and what shows or changes lists
/// needs the secret in a header, which no page of another origin can send: no answer allows it to.
struct PageGuard: RouterMiddleware {
    typealias Context = BasicRequestContext

    let secret: PageSecret
    /// Which origins a page may frame, and which pages may frame it, as the policy names them.
    let frames: @Sendable () -> PageFrames
    /// The port that was taken; known before the first request.
    let port: @Sendable () -> Int

    func handle(
        _ request: Request, context: Context,
        next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        var response: Response
        if let refusal = refusal(of: request) {
            response = Self.text(refusal.status, refusal.sentence)
        } else {
            do {
                response = try await next(request, context)
            } catch let error as HTTPError {
                response = Self.text(
                    error.status,
                    error.body
                        ?? "There is no page at this address; open the one that the app printed.")
            }
        }
        let headers = [
            "Content-Security-Policy": frames().policy, "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer", "Cache-Control": "no-store",
            "Cross-Origin-Opener-Policy": "same-origin",
        ]
        for (name, value) in headers {
            if let name = HTTPField.Name(name) { response.headers[name] = value }
        }
        return response
    }

    private static let otherOrigin =
        "A page of another origin sent the request, which is not answered; open the app's own page."

    private func refusal(
        of request: Request
    ) -> (status: HTTPResponse.Status, sentence: String)? {
        // If another name was pointed at this machine, it is here.
        let hosts = ["127.0.0.1:\(port())", "localhost:\(port())"]
        guard let host = request.head.authority, hosts.contains(host) else {
            return (
                .forbidden,
                "This server answers only to its own address; open the one that the app printed."
            )
        }
        if let origin = request.headers[.origin], origin != "http://\(host)" {
            return (.forbidden, Self.otherOrigin)
        }
        // As the router reads paths, for which //api/ is the same.
        guard request.uri.path.split(separator: "/").first == "api" else { return nil }
        if let name = HTTPField.Name("Sec-Fetch-Site"), let site = request.headers[name],
            !["same-origin", "none"].contains(site)
        {
            return (.forbidden, Self.otherOrigin)
        }
        let shown = request.headers[.authorization] ?? ""
        guard shown.hasPrefix("Bearer "), secret.isSame(as: String(shown.dropFirst(7))) else {
            return (
                .unauthorized,
                "The address lacks the app's secret; open the whole one that the app printed."
            )
        }
        return nil
    }

    static func text(_ status: HTTPResponse.Status, _ sentence: String) -> Response {
        Response(
            status: status, headers: [.contentType: "text/plain; charset=utf-8"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: sentence + "\n")))
    }
}

/// Which pages are shown in which.
struct PageFrames: Sendable {
    /// Origins that this page shows in frames.
    var shown: [String] = []
    /// Origins whose pages may show this one.
    var shownBy: [String] = []

    var policy: String {
        func list(_ origins: [String]) -> String {
            origins.isEmpty ? "'none'" : origins.joined(separator: " ")
        }
        return "default-src 'self'; img-src 'self' blob:; object-src 'none'; base-uri 'none'; "
            + "form-action 'none'; frame-src \(list(shown)); frame-ancestors \(list(shownBy))"
    }
}
