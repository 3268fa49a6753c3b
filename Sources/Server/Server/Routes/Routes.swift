import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import StratusRecords
import StratusService
import StratusWire

/// The addresses of the protocol. A route authenticates, decodes, calls the service and encodes, and does nothing else.
struct Routes: Sendable {
    let service: CloudService
    let logger: Logger
    /// The origin of the addresses in answers; nil takes the request's Host.
    let publicOrigin: String?
    /// Whether the server itself speaks TLS.
    let isTLS: Bool
    /// The proxies that are trusted to say where requests come from.
    var proxies = TrustedProxies.none
    /// The names under which the service may be called, if there is no public origin.
    var names = ServiceNames(listeningOn: "localhost", and: [])
    /// Counts requests; nil counts nothing.
    var metrics: RequestMetrics?
    /// The token with which other machines may read the metrics.
    var metricsToken: String?
    /// Whether other machines may use the endpoints for development.
    var isDevelopmentOpen = false

    func add(to router: Router<ServerContext>) {
        serve(RecordsModify.self, on: router, isCompressed: true)
        serve(OperationsCancel.self, on: router, isCompressed: false)
        serve(RecordsLookup.self, on: router, isCompressed: true)
        serve(RecordsQuery.self, on: router, isCompressed: true)
        serve(RecordsResolve.self, on: router, isCompressed: false, finish: finish)
        serve(RecordsAccept.self, on: router, isCompressed: false, finish: finish)
        serve(RecordsRequestAccess.self, on: router, isCompressed: false)
        serve(ChangesDatabase.self, on: router, isCompressed: true)
        serve(ChangesZone.self, on: router, isCompressed: true)
        serve(RecordsChanges.self, on: router, isCompressed: true)
        serve(ZonesChanges.self, on: router, isCompressed: true)
        serve(ZonesList.self, on: router, isCompressed: true)
        serve(ZonesLookup.self, on: router, isCompressed: true)
        serve(ZonesModify.self, on: router, isCompressed: true)
        serve(SubscriptionsList.self, on: router, isCompressed: true)
        serve(SubscriptionsLookup.self, on: router, isCompressed: true)
        serve(SubscriptionsModify.self, on: router, isCompressed: false)
        serve(UsersCaller.self, on: router, isCompressed: false)
        serve(UsersCurrent.self, on: router, isCompressed: false)
        serve(UsersDiscover.self, on: router, isCompressed: false)
        serve(UsersLookupEmail.self, on: router, isCompressed: false)
        serve(UsersLookupID.self, on: router, isCompressed: false)
        serve(UsersLookupContacts.self, on: router, isCompressed: false)
        serve(UsersPermission.self, on: router, isCompressed: false)
        serve(UsersSessions.self, on: router, isCompressed: false)
        serve(UsersSignOut.self, on: router, isCompressed: false)
        serve(TokensCreate.self, on: router, isCompressed: false) { answer, request in
            // The service only knows paths.
            answer.webcourierURL = origin(of: request) + answer.webcourierURL
        }
        serve(TokensRegister.self, on: router, isCompressed: false)
        serve(TokensUnregister.self, on: router, isCompressed: false)
        serve(AssetsUpload.self, on: router, isCompressed: false)
        serve(AssetsRereference.self, on: router, isCompressed: false)
        addAssets(to: router)
        addHealth(to: router)
        addMetrics(to: router)
        addSharePage(to: router)
        addCourier(to: router)
        addPasswordExchange(to: router)
        if !service.settings.accounts.identityProviders.isEmpty {
            addIdentityExchange(to: router)
        }
        if service.settings.isForDevelopment {
            addDevelopment(to: router)
        }
        if let faults = service.faults { addFaults(faults, to: router) }
    }

    /// Answers that fit into one packet do not arrive faster when they are shorter.
    private static let bytesNotCompressed = 1_024

    /// - Parameter isCompressed: Whether answers may be sent in gzip: large ones whose secrets cannot be compared with
    ///   a text that an attacker chose (decision 26).
    private func serve<E: ServedEndpoint>(
        _ endpoint: E.Type, on router: Router<ServerContext>, isCompressed: Bool,
        finish: @escaping @Sendable (inout E.Answer, Request) -> Void = { _, _ in }
    ) {
        let place = "1/:container/:environment"
        let paths =
            if E.isInDatabase {
                ["database/\(place)/:database/\(E.path)"]
            } else {
                // The documents have the first path, the live service serves the second, and some clients name a
                // database, which has no meaning here.
                [
                    "database/\(place)/\(E.path)", "device/\(place)/\(E.path)",
                    "database/\(place)/:database/\(E.path)",
                ]
            }
        for path in paths {
            router.post(RouterPath(path)) { request, context in
                await respond(to: request, droppingWith: context) {
                    try await answer(
                        E.self, to: request, context, isCompressed: isCompressed, finish)
                }
            }
            if E.isReadWithoutBody {
                router.get(RouterPath(path)) { request, context in
                    await respond(to: request, droppingWith: context) {
                        try await answer(
                            E.self, to: request, context, isCompressed: isCompressed, finish)
                    }
                }
            }
        }
    }

    private func answer<E: ServedEndpoint>(
        _ endpoint: E.Type, to request: Request, _ context: ServerContext, isCompressed: Bool,
        _ finish: (inout E.Answer, Request) -> Void
    ) async throws -> Response {
        var head = try RequestHead(
            request, context.parameters, limits: service.settings.limits,
            networkAddress: networkAddress(of: request, context))
        head.credentials.serviceOrigin = origin(of: request)
        if head.scope == nil, E.isInDatabase { throw RequestFailure(.unknownAddress) }
        if !E.isInDatabase { head.scope = nil }
        let read = try await letIn(E.self, head, request, context)
        let receivedBytes = read.body.readableBytes
        let memory = try await context.memory(forWorkOn: receivedBytes, in: service)
        // Held until the answer is encoded; its bytes are counted when they are written.
        defer { withExtendedLifetime(memory) {} }
        let answered = try await read.answer(
            receivedBytes: receivedBytes, holding: memory
        ) { body in
            if body.readableBytes == 0, let request = E.requestWithoutBody { return request }
            return try decode(E.Request.self, from: body)
        }
        let served = await answered.encoded { answer in
            finish(&answer, request)
            let bytes = withWireBytes(of: answer, documentedCodesOnly: !request.knowsOurs) {
                ByteBuffer(bytes: $0)
            }
            // The uncompressed size is charged, not the transferred one.
            guard isCompressed, request.takesGzip, bytes.readableBytes > Self.bytesNotCompressed,
                let compressed = Gzip.compressed(bytes, ratio: Gzip.ratioOfAnswers)
            else { return ((bytes, false), bytes.readableBytes) }
            return ((compressed, true), bytes.readableBytes)
        }
        return Response(
            json: served.bytes.0, webAuthToken: served.rotatedWebAuthToken,
            isCompressed: isCompressed ? served.bytes.1 : nil)
    }

    /// Checks the caller, then reads the body; with a signature the body comes first, since the signature covers it.
    private func letIn<E: ServedEndpoint>(
        _ endpoint: E.Type, _ head: RequestHead, _ request: Request, _ context: ServerContext
    ) async throws -> ReadRequest<E, ByteBuffer> {
        var credentials = head.credentials
        if head.isSigned {
            // This is the key that the signature names; the body shows whether the signature is valid.
            credentials.signature = RequestHead.signature(of: request, over: ByteBuffer())
        }
        let checked = try service.receive(
            E.self, from: credentials, at: head.address, scope: head.scope
        ).checkRate()
        let limits = service.settings.limits
        guard head.isSigned else {
            let admitted = try await checked.admit()
            context.ledger?.memory.assign(toUser: admitted.user)
            return try await admitted.reading { try await request.collectBody(limits) }
        }
        return try await checked.admit(
            reading: { try await request.collectBody(limits) },
            byteCount: { $0.readableBytes },
            signature: { RequestHead.signature(of: request, over: $0 ?? ByteBuffer()) })
    }

    /// Counts a request whose address is its own credential against its network's rate.
    func checkRate(of request: Request, _ context: ServerContext) throws {
        try service.checkRate(
            of: Credentials(
                apiToken: nil, networkAddress: networkAddress(of: request, context)))
    }

    func origin(of request: Request) -> String {
        publicOrigin ?? "\(isTLS ? "https" : "http")://\(request.head.authority ?? "localhost")"
    }

    /// Whether clients use TLS, to this server or to a proxy in front of it.
    var isSecure: Bool { publicOrigin?.hasPrefix("https://") ?? isTLS }

    func decode<T: WireReadable>(_ type: T.Type, from body: ByteBuffer) throws -> T {
        do {
            return try body.withUnsafeReadableBytes { try readWire(type, from: $0) }
        } catch let error as WireError {
            throw RequestFailure(.invalid(error))
        }
    }

    /// Runs a route's work and turns any error into the protocol's.
    func respond(
        to request: Request, droppingWith context: ServerContext? = nil,
        _ work: () async throws -> Response
    ) async -> Response {
        do {
            return try await work()
        } catch let failure as RequestFailure where failure.error.code == .connectionDropped {
            // An injected fault: the client gets no answer.
            context?.drop()
            return Response(status: .internalServerError)
        } catch var failure as RequestFailure {
            let uuid = service.newUUID()
            metrics?.count(error: failure.error.code)
            // The service only knows paths.
            if let url = failure.error.redirectURL, url.hasPrefix("/") {
                failure.error.redirectURL = origin(of: request) + url
            }
            logger.debug(
                "A request was refused.",
                metadata: [
                    "uuid": "\(uuid)", "code": "\(failure.error.code.rawValue)",
                    "path": "\(request.uri.path)",
                ])
            var response = Response(failure, uuid: uuid, knowsOurs: request.knowsOurs)
            if failure.endsConnection || request.mayHaveLongBody {
                response.headers[.connection] = "close"
            }
            return response
        } catch {
            // Only a RequestFailure is expected here. Anything else is a client that disconnected, or an internal
            // error, which the log must show in full and the client must not see.
            let uuid = service.newUUID()
            if !(error is CancellationError) {
                logger.error(
                    "A request failed unexpectedly.",
                    metadata: [
                        "uuid": "\(uuid)", "error": "\(String(reflecting: error))",
                        "path": "\(request.uri.path)",
                    ])
            }
            return Response(RequestFailure(.unexpected), uuid: uuid, knowsOurs: request.knowsOurs)
        }
    }
}

extension ServiceError {
    static let unexpected = ServiceError(
        .internalError,
        """
        The service failed on this request; tell its operator the uuid, under which its log has the \
        details.
        """)
}
