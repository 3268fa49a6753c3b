import HTTPTypes
import Hummingbird
import StratusRecords
import StratusService
import StratusWire

/// Answers in the protocol's form when no route matches, or none for the request's method.
struct UnknownAddress: ServerMiddleware {
    let service: CloudService
    let methods: MethodTable

    func handle(_ request: Request, context: Context, next: Next) async throws -> Response {
        do {
            return try await next(request, context)
        } catch let error as HTTPError where error.status == .notFound {
            // Hummingbird's answer has no body; clients need the protocol's.
            let uuid = service.newUUID()
            let allowed = methods.methods(at: request.uri.path)
            guard !allowed.isEmpty else {
                return Response(
                    RequestFailure(.unknownAddress), uuid: uuid, knowsOurs: request.knowsOurs)
            }
            var response = Response(
                RequestFailure(.wrongMethod(request.method.rawValue, allowed)), uuid: uuid,
                knowsOurs: request.knowsOurs)
            response.status = .methodNotAllowed
            response.headers[.allow] = allowed.joined(separator: ", ")
            return response
        }
    }
}

/// Gives every answer an identifier, which a support request can name. For clients that know our extensions it adds
/// the time to the millisecond: the header Date has whole seconds.
struct AnswerNaming: ServerMiddleware {
    let service: CloudService

    func handle(_ request: Request, context: Context, next: Next) async throws -> Response {
        var response = try await next(request, context)
        if response.headers[.requestUUID] == nil {
            response.headers[.requestUUID] = service.newUUID()
        }
        if request.knowsOurs {
            response.headers[.serviceTime] = String(service.settings.world.nowMilliseconds())
        }
        // The body of an error would be taken for the next answer.
        return request.method == .head ? response.createHeadResponse() : response
    }
}

/// The methods of each address.
struct MethodTable: Sendable {
    private let rows: [(segments: [Substring], methods: [String])]

    init(_ routes: [Router<ServerContext>.RouteDescription]) {
        var methods: [String: [String]] = [:]
        for route in routes {
            methods[route.path.description, default: []].append(route.method.rawValue)
        }
        rows = methods.map { (Substring($0).split(separator: "/"), $1.sorted()) }
    }

    /// The methods of a path; empty when no route matches.
    func methods(at path: String) -> [String] {
        let segments = path.split(separator: "/")
        return Set(
            rows.filter { row in
                row.segments.count == segments.count
                    && zip(row.segments, segments).allSatisfy { isCapture($0) || $0 == $1 }
            }.flatMap(\.methods)
        ).sorted()
    }

    private func isCapture(_ segment: Substring) -> Bool {
        segment.hasPrefix(":") || segment.contains("{")
    }
}

extension ServiceError {
    fileprivate static func wrongMethod(_ method: String, _ allowed: [String]) -> ServiceError {
        ServiceError(
            .badRequest,
            "The address does not support \(method); use \(allowed.joined(separator: " or ")).")
    }
}
