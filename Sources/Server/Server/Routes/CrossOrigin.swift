import HTTPTypes
import Hummingbird
import StratusService

/// Lets pages in browsers read the protocol's answers: pages of the origins that the API token allows, or of any origin
/// if it names none.
///
/// The protocol has its credentials in the query, never in cookies, so a page cannot use a person's sign-in by itself.
/// Other origins cannot read the pages for people, which have a cookie, nor the metrics, which this machine's programs
/// read without credentials: a browser on this machine sends requests for any page.
struct CrossOrigin: ServerMiddleware {
    let service: CloudService

    func handle(_ request: Request, context: Context, next: Next) async throws -> Response {
        guard let origin = request.headers[.origin] else {
            var response = try await next(request, context)
            // Only assets may be kept in caches. A browser that shows one as a picture sends no origin, and must not
            // give the answer that it kept to a script that reads the asset.
            if request.firstSegment == "assets" { response.headers[values: .vary].append("Origin") }
            return response
        }
        let mayRead = await mayRead(request, origin)
        var response: Response
        if request.method == .options {
            response = Response(status: .noContent)
            if mayRead {
                response.headers[.accessControlAllowMethods] =
                    "GET, HEAD, POST, PATCH, DELETE, OPTIONS"
                response.headers[.accessControlAllowHeaders] =
                    request.headers[.accessControlRequestHeaders] ?? "content-type"
                response.headers[.accessControlMaxAge] = "600"
            }
        } else {
            response = try await next(request, context)
        }
        response.headers[values: .vary].append("Origin")
        guard mayRead else { return response }
        response.headers[.accessControlAllowOrigin] = origin
        response.headers[.accessControlExposeHeaders] =
            "X-Apple-CloudKit-Web-Auth-Token, X-Apple-CloudKit-Session, X-Apple-Request-UUID, "
            + "Accept-Ranges, Content-Range, ETag, Upload-Offset, Upload-Complete, Upload-Limit"
        return response
    }

    private func mayRead(_ request: Request, _ origin: String) async -> Bool {
        switch request.firstSegment {
        case "dev", "metrics": return false
        case "auth" where request.uri.path != Routes.identityExchangePath: return false
        default:
            return await service.mayRead(
                origin: origin,
                apiToken: request.uri.queryParameters["ckAPIToken"].map(String.init))
        }
    }
}
