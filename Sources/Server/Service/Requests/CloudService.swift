import Logging
import StratusQuery
import StratusRecords
import StratusSchema
import StratusStorage
import StratusWire

/// The rules of the service, free of HTTP: a caller and a typed request go in, a typed answer comes
/// out.
///
/// The same object runs behind the HTTP routes of StratusServer and in process under StratusTesting.
///
/// ```swift
/// let service = CloudService(storage: storage, settings: ServiceSettings(isForDevelopment: true))
/// let answer = try await service.respond(
///     to: ZonesList.self, .init(), from: credentials, at: address, scope: .private)
/// ```
public final class CloudService: Sendable {
    let components: ServiceComponents
    let pipeline: RequestPipeline

    /// The faults that tests inject; nil in a service that is not for development.
    package let faults: FaultScript?

    package var storage: any StorageEngine { components.storage }
    /// The settings that the service was made with.
    public var settings: ServiceSettings { components.settings }

    /// A new UUID, which identifies an answer in the log.
    package func newUUID() -> String { settings.world.newUUID() }

    /// The bytes that requests and answers may hold.
    package var memory: MemoryBudget { components.memory }

    /// API tokens, sessions, server keys and users.
    public var accounts: Accounts { components.accounts }

    /// Makes a service that keeps its data in a storage engine.
    public init(storage: any StorageEngine, settings: ServiceSettings) {
        let faults = settings.isForDevelopment ? FaultScript() : nil
        self.faults = faults
        let components = ServiceComponents(storage: storage, settings: settings, faults: faults)
        self.components = components
        pipeline = RequestPipeline(
            components: components,
            faults: faults.map { script in
                FaultMiddleware(
                    script: script, world: settings.world, zones: components.zoneRemoval)
            })
    }

    /// Sets the handler for a storage error that only an operator can resolve and that affects every request: the
    /// folder cannot be written, or the directory is damaged. The service should then stop with the error's sentence.
    public func onFatalStorageError(_ handler: @escaping @Sendable (StorageError) -> Void) {
        components.errors.onFatalStorageError(handler)
    }

    // MARK: Requests

    /// Answers a request: authenticates, checks access, applies the endpoint's rules.
    ///
    /// - Parameters:
    ///   - credentials: The caller's credentials.
    ///   - address: The container and environment of the request's path.
    ///   - scope: The database of the path; nil for endpoints without one.
    ///   - endpoint: The endpoint of the request.
    ///   - request: The typed request.
    /// - Throws: `RequestFailure` with the protocol's code; errors of single items are in the answer.
    public func respond<E: ServedEndpoint>(
        to endpoint: E.Type, _ request: E.Request, from credentials: Credentials,
        at address: ContainerAddress, scope: DatabaseScope?
    ) async throws(RequestFailure) -> ServedAnswer<E.Answer> {
        try await receive(E.self, from: credentials, at: address, scope: scope)
            .checkRate().admit().having(request)
            .answer(receivedBytes: 0, holding: .inProcess) { $0 }.inProcess()
    }

    /// The first state of a request whose body is still to be read.
    package func receive<E: ServedEndpoint>(
        _ endpoint: E.Type, from credentials: Credentials, at address: ContainerAddress,
        scope: DatabaseScope?
    ) -> ArrivingRequest<E> {
        ArrivingRequest(pipeline, credentials, at: address, scope: scope)
    }

    /// Counts a request against the rate of its network address, for requests whose address is itself the credential.
    ///
    /// - Throws: `RequestFailure` with THROTTLED.
    package func checkRate(of credentials: Credentials) throws(RequestFailure) {
        do {
            try pipeline.meter.checkRate(of: credentials)
        } catch {
            throw RequestFailure(error)
        }
    }

    /// Counts a request for its network address and checks its API token, for requests whose container is in the body
    /// and not known yet: with a bad token, the body need not be read.
    ///
    /// - Throws: `RequestFailure` with THROTTLED or AUTHENTICATION_FAILED.
    package func checkApp(_ credentials: Credentials) async throws(RequestFailure) {
        try checkRate(of: credentials)
        do {
            try await pipeline.watch.refresh()
            _ = try await accounts.app(of: credentials)
        } catch {
            pipeline.meter.recordOutcome(of: credentials.network, credentials, error)
            throw components.errors.failure(from: error)
        }
    }

    /// Whether pages of an origin may read answers to requests with an API token.
    ///
    /// Every page may read the refusal of an unknown token, so that its developer sees it.
    package func mayRead(origin: String, apiToken: String?) async -> Bool {
        guard let apiToken else { return true }
        do {
            try await pipeline.watch.refresh()
            return try await accounts.apiToken(apiToken)?.allows(origin: origin) ?? true
        } catch {
            // A browser that asked before its request does not send the request then, so no answer reports the error.
            _ = components.errors.failure(from: error)
            return false
        }
    }

    // MARK: Assets

    /// Receives the bytes of an asset: step 2 of an upload.
    ///
    /// Holds the bytes of one write at a time. When this returns, the blob is durable and has its row.
    ///
    /// - Parameters:
    ///   - token: The last segment of the address that `assets/upload` answered.
    ///   - announcedBytes: The number of bytes, if it is known.
    ///   - fileName: Returns the name of the file, percent-encoded, once all bytes are read; nil when the client sent
    ///     none. Downloads of the asset include it.
    ///   - body: The asset's bytes in pieces of any size. It is not read when the address is invalid.
    /// - Throws: `RequestFailure`: NOT_FOUND for a bad address, BAD_REQUEST with framework code 27
    ///   for too many bytes, and what `body` throws as such a failure.
    public func upload<Body: AsyncSequence>(
        to token: String, announcedBytes: Int64? = nil, fileName: () -> String? = { nil },
        _ body: Body
    ) async throws(RequestFailure) -> AssetsUpload.Uploaded where Body.Element == [UInt8] {
        do {
            return try await assetTransfer.upload(
                to: token, announcedBytes: announcedBytes, fileName: fileName, body)
        } catch {
            throw components.errors.failure(from: error)
        }
    }

    /// Receives the bytes of an asset from an offset on: a resumable upload. When they end early, the bytes that
    /// arrived are kept until the address expires, also across a restart of the service, but not of the machine.
    ///
    /// - Parameters:
    ///   - token: The segment of the upload's address after `/assets/put/`.
    ///   - offset: How many bytes are kept already; 0 starts the upload.
    ///   - isLast: Whether the asset ends with these bytes.
    ///   - announcedBytes: The length that the client announced, if it did: bytes beyond it are not read.
    ///   - fileName: As for ``upload(to:announcedBytes:fileName:_:)``; called when the asset is complete.
    ///   - body: The bytes in pieces of any size. They are not read when the address or the offset is invalid.
    /// - Throws: `RequestFailure`, as ``upload(to:announcedBytes:fileName:_:)``, and TRY_AGAIN_LATER while bytes of
    ///   the same upload are arriving.
    public func resumeUpload<Body: AsyncSequence>(
        to token: String, at offset: Int64, isLast: Bool, announcedBytes: Int64? = nil,
        fileName: () -> String? = { nil }, _ body: Body
    ) async throws(RequestFailure) -> ResumedUpload where Body.Element == [UInt8] {
        do {
            return try await assetTransfer.resumeUpload(
                to: token, at: offset, isLast: isLast, announcedBytes: announcedBytes,
                fileName: fileName, body)
        } catch {
            throw components.errors.failure(from: error)
        }
    }

    /// The number of bytes that are kept of a resumable upload; 0 when there are none.
    ///
    /// - Throws: `RequestFailure`: NOT_FOUND for a bad address.
    public func keptBytes(ofUpload token: String) async throws(RequestFailure) -> Int64 {
        do {
            return try await assetTransfer.keptBytes(of: token)
        } catch {
            throw components.errors.failure(from: error)
        }
    }

    /// Removes the kept bytes of a resumable upload.
    ///
    /// - Throws: `RequestFailure`: NOT_FOUND for a bad address.
    public func cancelUpload(_ token: String) async throws(RequestFailure) {
        do {
            try await assetTransfer.cancelUpload(token)
        } catch {
            throw components.errors.failure(from: error)
        }
    }

    /// Opens an asset for a caller who has its address.
    ///
    /// - Parameters:
    ///   - token: The segment of a `downloadURL` after `/assets/get/`.
    ///   - payer: Who is charged for the bytes that are read.
    /// - Throws: `RequestFailure` with NOT_FOUND when the address is bad or the asset is gone.
    public func download(
        _ token: String, paidBy payer: DownloadPayer
    ) async throws(RequestFailure) -> AssetDownload {
        do {
            return try await assetTransfer.download(token, by: payer.movers)
        } catch {
            throw components.errors.failure(from: error)
        }
    }

    private var assetTransfer: AssetByteTransfer {
        AssetByteTransfer(
            limits: settings.limits, world: settings.world, logger: settings.logger,
            databases: components.databases, signerSource: components.signerSource,
            costs: pipeline.costs, uploads: components.uploads)
    }
}
