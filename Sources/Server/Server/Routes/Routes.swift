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

    /// The endpoints of the protocol. Everything that is particular to one is in its `rules` and its `answer`.
    private static var endpoints: [any ServedEndpoint.Type] {
        [
            RecordsModify.self,
            OperationsCancel.self,
            RecordsLookup.self,
            RecordsQuery.self,
            RecordsResolve.self,
            RecordsAccept.self,
            RecordsRequestAccess.self,
            ChangesDatabase.self,
            ChangesZone.self,
            RecordsChanges.self,
            ZonesChanges.self,
            ZonesList.self,
            ZonesLookup.self,
            ZonesModify.self,
            SubscriptionsList.self,
            SubscriptionsLookup.self,
            SubscriptionsModify.self,
            UsersCaller.self,
            UsersCurrent.self,
            UsersDiscover.self,
            UsersLookupEmail.self,
            UsersLookupID.self,
            UsersLookupContacts.self,
            UsersPermission.self,
            UsersSessions.self,
            UsersSignOut.self,
            TokensCreate.self,
            TokensRegister.self,
            TokensUnregister.self,
            AssetsUpload.self,
            AssetsRereference.self,
        ]
    }

    func add(to router: Router<ServerContext>) {
        for endpoint in Self.endpoints { serve(endpoint, on: router) }
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

    private func serve<E: ServedEndpoint>(_ endpoint: E.Type, on router: Router<ServerContext>) {
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
                    try await answer(E.self, to: request, context)
                }
            }
            if E.isReadWithoutBody {
                router.get(RouterPath(path)) { request, context in
                    await respond(to: request, droppingWith: context) {
                        try await answer(E.self, to: request, context)
                    }
                }
            }
        }
    }

    private func answer<E: ServedEndpoint>(
        _ endpoint: E.Type, to request: Request, _ context: ServerContext
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
            let bytes = withWireBytes(of: answer, documentedCodesOnly: !request.knowsOurs) {
                ByteBuffer(bytes: $0)
            }
            // The uncompressed size is charged, not the transferred one.
            guard E.rules.isCompressed, request.takesGzip,
                bytes.readableBytes > Self.bytesNotCompressed,
                let compressed = Gzip.compressed(bytes, ratio: Gzip.ratioOfAnswers)
            else { return ((bytes, false), bytes.readableBytes) }
            return ((compressed, true), bytes.readableBytes)
        }
        return Response(
            json: served.bytes.0, webAuthToken: served.rotatedWebAuthToken,
            isCompressed: E.rules.isCompressed ? served.bytes.1 : nil)
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
