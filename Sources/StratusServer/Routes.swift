import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import StratusRecords
import StratusService
import StratusWire

/// The addresses of the protocol. A route authenticates, decodes, calls the service and encodes;
/// nothing else lives here.
struct Routes: Sendable {
    let service: CloudService
    let logger: Logger
    /// What stands before the paths in addresses that are handed out; nil takes the request's Host.
    let publicOrigin: String?
    let makeUUID: @Sendable () -> String

    func add(to router: Router<BasicRequestContext>) {
        serve(RecordsModify.self, on: router)
        serve(RecordsLookup.self, on: router)
        serve(RecordsQuery.self, on: router)
        serve(ChangesDatabase.self, on: router)
        serve(ChangesZone.self, on: router)
        serve(RecordsChanges.self, on: router)
        serve(ZonesChanges.self, on: router)
        serve(ZonesList.self, on: router)
        serve(ZonesLookup.self, on: router)
        serve(ZonesModify.self, on: router)
        serve(SubscriptionsList.self, on: router)
        serve(SubscriptionsLookup.self, on: router)
        serve(SubscriptionsModify.self, on: router)
        serve(UsersCaller.self, on: router)
        serve(UsersCurrent.self, on: router)
        serve(TokensCreate.self, on: router) { answer, request in
            // The service knows paths only.
            answer.webcourierURL = origin(of: request) + answer.webcourierURL
        }
        serve(TokensRegister.self, on: router)
        addHealth(to: router)
        addCourier(to: router)
        if service.settings.isForDevelopment {
            addDevelopment(to: router)
        }
    }

    private func serve<E: ServedEndpoint>(
        _ endpoint: E.Type, on router: Router<BasicRequestContext>,
        finish: @escaping @Sendable (inout E.Answer, Request) -> Void = { _, _ in }
    ) {
        let place = "1/:container/:environment"
        let paths =
            if E.isInDatabase {
                ["database/\(place)/:database/\(E.path)"]
            } else {
                // The documents print the first, the live service serves the second.
                ["database/\(place)/\(E.path)", "device/\(place)/\(E.path)"]
            }
        for path in paths {
            router.post(RouterPath(path)) { request, context in
                await respond(to: request) {
                    try await answer(E.self, to: request, context.parameters, finish)
                }
            }
            if E.isReadWithoutBody {
                router.get(RouterPath(path)) { request, context in
                    await respond(to: request) {
                        try await answer(E.self, to: request, context.parameters, finish)
                    }
                }
            }
        }
    }

    private func answer<E: ServedEndpoint>(
        _ endpoint: E.Type, to request: Request, _ parameters: Parameters,
        _ finish: (inout E.Answer, Request) -> Void
    ) async throws -> Response {
        var head = try RequestHead(request, parameters)
        let body = try await request.collectBody(service.settings.limits)
        if head.scope == nil, E.isInDatabase { throw RequestFailure(.unknownAddress) }
        if !E.isInDatabase { head.scope = nil }
        let typed =
            if body.readableBytes == 0, let request = E.requestWithoutBody {
                request
            } else {
                try decode(E.Request.self, from: body)
            }
        var served = try await service.respond(
            to: E.self, typed, from: head.credentials, at: head.address, scope: head.scope)
        finish(&served.answer, request)
        return Response(
            wireBytes: wireBytes(of: served.answer), webAuthToken: served.rotatedWebAuthToken)
    }

    private func origin(of request: Request) -> String {
        publicOrigin ?? "http://\(request.head.authority ?? "localhost")"
    }

    func decode<T: WireReadable>(_ type: T.Type, from body: ByteBuffer) throws -> T {
        do {
            return try body.withUnsafeReadableBytes { try readWire(type, from: $0) }
        } catch let error as WireError {
            let place = error.path.isEmpty ? "" : " (at \(error.path))"
            throw RequestFailure(ServiceError(.badRequest, error.reason + place, frameworkCode: 12))
        }
    }

    /// Runs a route's work and turns whatever it throws into the protocol's error.
    func respond(
        to request: Request, _ work: () async throws -> Response
    ) async -> Response {
        do {
            return try await work()
        } catch let failure as RequestFailure {
            let uuid = makeUUID()
            logger.debug(
                "A request was refused.",
                metadata: [
                    "uuid": "\(uuid)", "code": "\(failure.error.code.rawValue)",
                    "path": "\(request.uri.path)",
                ])
            var response = Response(failure, uuid: uuid)
            if failure.endsConnection { response.headers[.connection] = "close" }
            return response
        } catch {
            // Nothing but a RequestFailure is meant to come here: a client that went away, or a fault
            // of ours, which the log must show in full and the client must not see.
            let uuid = makeUUID()
            if !(error is CancellationError) {
                logger.error(
                    "A request failed unexpectedly.",
                    metadata: [
                        "uuid": "\(uuid)", "error": "\(String(reflecting: error))",
                        "path": "\(request.uri.path)",
                    ])
            }
            return Response(RequestFailure(.unexpected), uuid: uuid)
        }
    }
}

extension ServiceError {
    static let unexpected = ServiceError(
        .internalError, "The service failed; its log has the details under the uuid.")
}
