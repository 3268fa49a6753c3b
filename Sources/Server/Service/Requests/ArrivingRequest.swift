import StratusRecords
import StratusWire

/// A request of which only the head is known: the first of the states that it passes through.
///
/// Each state is made from the one before it and consumes it, so that the compiler enforces the order: ``checkRate()``
/// → ``RateCheckedRequest/admit()`` → ``AdmittedRequest/reading(_:)`` → ``ReadRequest/answer(_:)`` →
/// ``AnsweredRequest``. A refusal is counted for the request's sender: its network address until the user is known.
package struct ArrivingRequest<E: ServedEndpoint>: ~Copyable {
    fileprivate let pipeline: RequestPipeline
    fileprivate let credentials: Credentials
    fileprivate let address: ContainerAddress
    fileprivate let scope: DatabaseScope?

    init(
        _ pipeline: RequestPipeline, _ credentials: Credentials, at address: ContainerAddress,
        scope: DatabaseScope?
    ) {
        self.pipeline = pipeline
        self.credentials = credentials
        self.address = address
        self.scope = scope
    }

    /// Counts the request against the rate of its network address, before anything else is done for it.
    ///
    /// - Throws: `RequestFailure` with THROTTLED.
    package consuming func checkRate() throws(RequestFailure) -> RateCheckedRequest<E> {
        do {
            try pipeline.meter.checkRate(of: credentials)
        } catch {
            throw RequestFailure(error)
        }
        return RateCheckedRequest(
            pipeline: pipeline, credentials: credentials, address: address, scope: scope)
    }
}

/// A request that its network address has the rate for.
package struct RateCheckedRequest<E: ServedEndpoint>: ~Copyable {
    fileprivate let pipeline: RequestPipeline
    fileprivate var credentials: Credentials
    fileprivate let address: ContainerAddress
    fileprivate let scope: DatabaseScope?

    /// Admits or refuses the caller by what is known before the body is read; the cheapest checks come first.
    ///
    /// - Throws: `RequestFailure`; when a user is needed, with the address of a sign-in page: a path
    ///   and a query, before which a server puts its origin.
    package consuming func admit() async throws(RequestFailure) -> AdmittedRequest<E> {
        var sender = credentials.network
        let components = pipeline.components
        do {
            try await pipeline.watch.refresh()
            let admitted = try await components.accounts.authenticate(
                credentials, at: address, signer: components.tokenSigner(),
                mayRepeat: E.rules.effect == .idempotent)
            if let user = admitted.caller.userRecordName {
                sender = .user(user, in: address)
                try pipeline.meter.checkRate(of: sender)
            }
            try pipeline.meter.checkTransfers(
                of: address, by: credentials.movers(of: sender))
            var caller = admitted.caller
            caller.wantsSyncToken = credentials.wantsSyncToken
            let context = RequestContext(
                caller: caller, address: address, scope: scope, origin: credentials.serviceOrigin,
                limits: components.settings.limits, outcomeRoom: components.outcomeRoom,
                nowMilliseconds: components.settings.world.nowMilliseconds())
            try context.checkAccess(E.rules.access)
            return AdmittedRequest(
                pipeline: pipeline, credentials: credentials, context: context,
                rotatedWebAuthToken: admitted.rotatedWebAuthToken, sender: sender)
        } catch {
            pipeline.meter.recordOutcome(of: sender, credentials, error)
            throw await pipeline.failure(
                from: error, credentials, at: address,
                in: "\(E.self) in \(address.container)/\(address.environment)")
        }
    }

    /// Admits a server that signed its request. The signature covers the body, which is therefore read first, but only
    /// after all other checks. Hashing a large body is work like answering: it is done where heavy requests run, and
    /// charged even if the signature is wrong.
    ///
    /// - Parameters:
    ///   - read: Reads the body.
    ///   - byteCount: The size of a body.
    ///   - signature: The signature over the body, or with nil over none.
    package consuming func admit<Body>(
        reading read: () async throws -> Body, byteCount: (Body) -> Int,
        signature: (Body?) -> RequestSignature
    ) async throws -> ReadRequest<E, Body> {
        let sender = credentials.network
        credentials.signature = signature(nil)
        do {
            try await checkSigner()
        } catch {
            pipeline.meter.recordOutcome(of: sender, credentials, error)
            throw pipeline.components.errors.failure(from: error)
        }
        let body = try await pipeline.meter.recordingFailure(of: sender, credentials, read)
        let (pipeline, payer) = (pipeline, pipeline.meter.payer(for: sender, credentials))
        let bytes = byteCount(body)
        let line = pipeline.heavy?.begin(payer, receivedBytes: bytes)
        credentials.signature = await HeavyThreads.Line.run(on: line) { signature(body) }
        pipeline.heavy?.end(payer)
        do {
            return ReadRequest(admitted: try await admit(), body: body)
        } catch {
            // A request that is admitted is charged when it is answered.
            pipeline.charge(payer, bytes: bytes)
            throw error
        }
    }

    /// Refuses a signed request whose body need not be read, because no body could make its signature valid.
    private func checkSigner() async throws {
        try await pipeline.watch.refresh()
        if let signature = credentials.signature {
            _ = try await pipeline.components.accounts.keyOfSigner(
                signature, credentials, at: address)
        }
    }
}

extension RequestContext {
    /// Refuses callers who may not use the endpoint in this database (Wire.md, "Credentials").
    fileprivate func checkAccess(_ access: EndpointAccess) throws {
        if caller.isServer, scope != .public { throw ServiceError.serverInOthersDatabase }
        guard caller.userRecordName == nil else { return }
        if access == .user || scope == .private || scope == .shared {
            throw ServiceError.signInNeeded
        }
    }
}

/// A request that was admitted by its head: its sender is known. The body can be read now.
package struct AdmittedRequest<E: ServedEndpoint>: ~Copyable {
    /// The user who sent the request.
    package var user: Throttle.Sender? {
        context.caller.userRecordName.map { .user($0, in: context.address) }
    }

    fileprivate let pipeline: RequestPipeline
    fileprivate let credentials: Credentials
    fileprivate var context: RequestContext
    fileprivate let rotatedWebAuthToken: String?
    /// The sender whose rate and whose turn the request uses.
    fileprivate let sender: Throttle.Sender

    /// Reads the body.
    ///
    /// - Throws: What `read` throws, such as the refusal of too large a body.
    package consuming func reading<Body>(
        _ read: () async throws -> Body
    ) async throws -> ReadRequest<E, Body> {
        let body = try await pipeline.meter.recordingFailure(of: sender, credentials, read)
        return ReadRequest(admitted: self, body: body)
    }

    /// The whole request, for one without a body to read.
    consuming func having(_ request: E.Request) -> ReadRequest<E, E.Request> {
        ReadRequest(admitted: self, body: request)
    }
}

/// An admitted request with its whole body.
package struct ReadRequest<E: ServedEndpoint, Body>: ~Copyable {
    fileprivate var admitted: AdmittedRequest<E>
    package let body: Body

    fileprivate init(admitted: consuming AdmittedRequest<E>, body: Body) {
        self.admitted = admitted
        self.body = body
    }

    /// Answers the request when its sender's turn has come.
    ///
    /// - Parameters:
    ///   - receivedBytes: The size of the body. It is charged before it is decoded, and counted here if the request
    ///     fails.
    ///   - memory: The service's memory that the request holds; `.inProcess` counts nothing.
    ///   - decode: Makes the request from its body: that is work too, and done in turn.
    /// - Throws: `RequestFailure` with the protocol's code; errors of single items are in the answer.
    package consuming func answer(
        receivedBytes: Int, holding memory: HeldMemory?,
        _ decode: (Body) throws -> E.Request
    ) async throws(RequestFailure) -> AnsweredRequest<E> {
        let pipeline = admitted.pipeline
        let sender = admitted.sender
        let credentials = admitted.credentials
        var context = admitted.context
        context.memory = memory
        let body = body
        let work = context.work
        let payer = pipeline.meter.payer(for: sender, credentials)
        pipeline.charge(payer, bytes: receivedBytes)
        let line = pipeline.heavy?.begin(payer, receivedBytes: receivedBytes)
        context.isHeavy = line != nil
        defer {
            pipeline.charge(payer, work.cost, admitted: 0)
            pipeline.heavy?.end(payer)
        }
        do {
            let answer = try await pipeline.run(as: sender, on: line) {
                let request = try decode(body)
                pipeline.charge(payer, 1 + E.rules.cost(request), admitted: 1)
                context.nowMilliseconds = pipeline.components.settings.world.nowMilliseconds()
                return try await pipeline.answer(E.self, request, in: context)
            }
            pipeline.meter.recordOutcome(of: sender, credentials, nil)
            return AnsweredRequest(
                pipeline: pipeline, payer: payer, line: line, receivedBytes: receivedBytes,
                container: context.address, movers: credentials.movers(of: sender),
                served: ServedAnswer(
                    answer,
                    rotatedWebAuthToken: E.rules.effect == .endsSession
                        ? nil : admitted.rotatedWebAuthToken))
        } catch {
            pipeline.meter.recordOutcome(of: sender, credentials, error)
            pipeline.meter.count(
                transferredBytes: receivedBytes, of: context.address,
                by: credentials.movers(of: sender))
            throw await pipeline.failure(
                from: error, credentials, at: context.address,
                in: "\(E.self) in \(context.databasePath)")
        }
    }
}

/// An answered request. Taking the answer out also charges what it cost.
package struct AnsweredRequest<E: ServedEndpoint>: ~Copyable {
    fileprivate let pipeline: RequestPipeline
    fileprivate let payer: Throttle.Sender
    /// Where it was answered, if it was heavy.
    fileprivate let line: HeavyThreads.Line?
    fileprivate let receivedBytes: Int
    fileprivate let container: ContainerAddress
    fileprivate let movers: [Throttle.Sender]
    fileprivate var served: ServedAnswer<E.Answer>

    /// Encodes the answer, and counts the bytes of the request and its answer: they are charged before the sender's
    /// next request is admitted.
    package consuming func encoded<Bytes>(
        _ encode: (E.Answer) -> (bytes: Bytes, count: Int)
    ) async -> (bytes: Bytes, rotatedWebAuthToken: String?) {
        let answer = served.answer
        let encoded = await HeavyThreads.Line.run(on: line) { encode(answer) }
        pipeline.charge(payer, bytes: encoded.count)
        pipeline.meter.count(
            transferredBytes: receivedBytes + encoded.count, of: container, by: movers)
        return (encoded.bytes, served.rotatedWebAuthToken)
    }

    /// The answer for a caller in the same process, with no bytes to count.
    consuming func inProcess() -> ServedAnswer<E.Answer> { served }
}
