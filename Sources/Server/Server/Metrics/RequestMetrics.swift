import HTTPTypes
import Hummingbird
import StratusRecords
import StratusRuntime
import StratusService
import StratusWire
import Synchronization

/// Counts requests by route and status, the time of each route, and errors by code. A route is named as it is declared
/// (`/database/1/{container}/…`), so no label contains a container's or user's name.
final class RequestMetrics: Sendable {
    private struct Kind: Hashable {
        var route: String
        var method: String
        var status: Int
    }

    private struct Known {
        var requests: [Kind: (MetricCounter, MetricHistogram)] = [:]
        var errors: [String: MetricCounter] = [:]
    }

    let metrics: PrometheusMetrics
    private let known = Mutex(Known())

    init(_ metrics: PrometheusMetrics) {
        self.metrics = metrics
    }

    func count(route: String, method: String, status: Int, seconds: Double) {
        let kind = Kind(route: route, method: method, status: status)
        let (counter, histogram) = known.withLock { known in
            if let pair = known.requests[kind] { return pair }
            let pair = (
                metrics.counter(
                    MetricSeries(
                        "stratus_requests_total",
                        [("route", route), ("method", method), ("status", "\(status)")])),
                metrics.histogram(
                    MetricSeries("stratus_request_seconds", [("route", route)]))
            )
            known.requests[kind] = pair
            return pair
        }
        counter.increment(by: 1)
        histogram.record(seconds)
    }

    func count(error code: ServiceError.Code) {
        let counter = known.withLock { known in
            if let counter = known.errors[code.rawValue] { return counter }
            let counter = metrics.counter(
                MetricSeries("stratus_errors_total", [("code", code.rawValue)]))
            known.errors[code.rawValue] = counter
            return counter
        }
        counter.increment(by: 1)
    }
}

/// Counts each request where it is answered.
struct RequestCounting: ServerMiddleware {
    let metrics: RequestMetrics
    let world: World

    func handle(_ request: Request, context: Context, next: Next) async throws -> Response {
        let start = world.uptimeSeconds()
        let response = try await next(request, context)
        metrics.count(
            route: context.endpointPath ?? "none", method: Self.name(request.method),
            status: response.status.code, seconds: world.uptimeSeconds() - start)
        return response
    }

    /// All methods that no route declares have the same name, so that clients cannot add names.
    private static func name(_ method: HTTPRequest.Method) -> String {
        [.get, .head, .post, .options, .delete].contains(method) ? method.rawValue : "other"
    }
}

extension Routes {
    /// `GET /metrics`, for programs on this machine, and for others with the metrics token.
    func addMetrics(to router: Router<ServerContext>) {
        guard let metrics else { return }
        router.get("metrics") { request, context in
            await respond(to: request) {
                guard mayReadMetrics(request, context) else {
                    throw RequestFailure(.metricsAreForOthers)
                }
                for figure in await service.figures() {
                    metrics.metrics.gauge(MetricSeries("stratus_" + figure.name))
                        .record(figure.value)
                }
                var headers = HTTPFields()
                headers[.contentType] = "text/plain; version=0.0.4; charset=utf-8"
                headers[.cacheControl] = "no-store"
                return Response(
                    status: .ok, headers: headers,
                    body: .init(byteBuffer: .init(string: metrics.metrics.text())))
            }
        }
    }

    private func mayReadMetrics(_ request: Request, _ context: ServerContext) -> Bool {
        if let metricsToken, let shown = request.headers[.authorization],
            shown.hasPrefix("Bearer ")
        {
            return isEqualInConstantTime(shown.dropFirst(7).utf8, metricsToken.utf8)
        }
        // A proxy in front of the service may be on this machine too, but its clients are not.
        guard publicOrigin == nil, proxies.isEmpty, request.headers[.forwardedFor] == nil,
            let peer = context.remoteAddress?.ipAddress
        else { return false }
        return ServiceNames.isLoopback(peer)
    }
}

extension ServiceError {
    static let metricsAreForOthers = ServiceError(
        .accessDenied,
        """
        Metrics are only for this machine's own programs; from elsewhere, send the token of \
        --metrics-token as a bearer token.
        """)
}
