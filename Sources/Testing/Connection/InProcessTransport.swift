import StratusClient
import StratusRecords
import StratusService
import StratusWire
import Synchronization

/// Connects a client to a service in the same process, with typed requests and answers that are not
/// encoded.
public final class InProcessTransport: AccountTransport {
    private let service: CloudService
    private let device: String
    private let webAuthToken: Mutex<String?>
    private let script: DeviceScript

    /// - Parameter webAuthToken: As `signInForDevelopment(user:)` made it; nil for no user.
    /// - Parameter device: The device's identifier.
    /// - Parameter service: Answers the requests.
    public convenience init(service: CloudService, webAuthToken: String?, device: String) {
        self.init(
            service: service, webAuthToken: webAuthToken, device: device, script: DeviceScript())
    }

    init(service: CloudService, webAuthToken: String?, device: String, script: DeviceScript) {
        self.script = script
        self.service = service
        self.device = device
        self.webAuthToken = Mutex(webAuthToken)
    }

    public func send<E: Endpoint>(
        _ endpoint: E.Type, _ request: E.Request, to target: RequestTarget, timeoutSeconds: Double
    ) async throws -> E.Answer {
        try await script.send(E.path, from: device, service.settings.world) {
            guard let served = E.self as? any ServedEndpoint.Type,
                let answer = try await ask(served, request, target) as? E.Answer
            else {
                throw ServiceFailure(
                    ServiceError(
                        .notFound, "The service has no endpoint \(E.path); use one that it serves.")
                )
            }
            return answer
        }
    }

    public func nextNotification(
        at webcourierURL: String, timeoutSeconds: Double
    ) async throws -> NotificationPayload? {
        // The address is the path from `tokens/create`: `/courier/aps?tok=…&ttl=…`.
        let query = webcourierURL.drop { $0 != "?" }.dropFirst().split(separator: "&")
        let token = query.first { $0.hasPrefix("tok=") }?.dropFirst("tok=".count) ?? ""
        return try await script.notification(to: device) {
            do {
                return try await service.nextNotification(
                    pushToken: String(token), timeoutSeconds: timeoutSeconds)
            } catch let refusal as RequestFailure {
                throw ServiceFailure(refusal.error)
            }
        }
    }

    public func upload(
        _ asset: AssetUpload, to url: String, timeoutSeconds: Double
    ) async throws -> AssetReceipt {
        try script.checkNetwork(device)
        let token = url.split(separator: "/").last ?? ""
        do {
            return try await service.upload(
                to: String(token), announcedBytes: asset.sizeBytes, asset
            ).singleFile
        } catch {
            if Task.isCancelled { throw CancellationError() }
            throw ServiceFailure(error.error)
        }
    }

    public func download(
        from url: String, timeoutSeconds: Double,
        receive: @escaping @Sendable ([UInt8]) async throws -> Void
    ) async throws {
        try script.checkNetwork(device)
        // The address is `/assets/get/{token}/{name}`.
        let parts = url.split(separator: "/")
        let token = parts.firstIndex(of: "get").map { parts[parts.index(after: $0)...] }?.first
        let download: AssetDownload
        do {
            download = try await service.download(String(token ?? ""), paidBy: .inProcess)
        } catch {
            if Task.isCancelled { throw CancellationError() }
            throw ServiceFailure(error.error)
        }
        var offset: Int64 = 0
        while offset < download.sizeBytes {
            try Task.checkCancellation()
            try script.checkNetwork(device)
            let piece = try await download.read(at: offset, count: Self.pieceBytes)
            guard !piece.isEmpty else {
                throw TransportError(
                    .answerLost,
                    "The asset ended after \(offset) of \(download.sizeBytes) bytes; fetch it again."
                )
            }
            offset += Int64(piece.count)
            try await receive(piece)
        }
    }

    /// Bytes of an asset that are passed on at a time.
    private static let pieceBytes = 256 * 1_024

    public func changeAccount(webAuthToken token: String?) {
        webAuthToken.withLock { $0 = token }
    }

    public func webAuthToken(
        forAPIToken apiToken: String, to target: RequestTarget, timeoutSeconds: Double
    ) async throws -> String {
        try script.checkNetwork(device)
        let answer = try await respond(UsersCaller.self, EmptyBody(), target, apiToken: apiToken)
        guard let token = answer.rotatedWebAuthToken else {
            throw CKError.notSignedIn(
                "A token belongs to an account, and no user is signed in.", at: nil)
        }
        return token
    }

    /// Runs the service's part without the client's task-local values. Tasks that the service starts inherit them, and
    /// would keep the client, and with it the service, until the last of them ends.
    private func serving<Value>(_ body: () async -> Value) async -> Value {
        await AccountCheck.$current.withValue(nil) {
            await AnswerTime.$listener.withValue(nil) { await body() }
        }
    }

    private func ask<S: ServedEndpoint>(
        _ served: S.Type, _ request: any Sendable, _ target: RequestTarget
    ) async throws -> any Sendable {
        guard let request = request as? S.Request else { return EmptyBody() }
        return try await respond(
            S.self, request, target, apiToken: ServiceSettings.developmentToken
        ).answer
    }

    private func respond<S: ServedEndpoint>(
        _ served: S.Type, _ request: S.Request, _ target: RequestTarget, apiToken: String
    ) async throws -> ServedAnswer<S.Answer> {
        let token = webAuthToken.withLock { $0 }
        try AccountCheck.current?()
        defer {
            AnswerTime.listener?(
                AnswerTime(milliseconds: service.settings.world.nowMilliseconds()))
        }
        do {
            let credentials = Credentials(
                apiToken: apiToken, webAuthToken: token, clientID: target.deviceID ?? device,
                wantsExtensions: true)
            let answer = try await serving {
                await service.result(
                    of: S.self, request, from: credentials, at: target.container,
                    scope: target.scope)
            }.get()
            if let next = answer.rotatedWebAuthToken {
                // Not if the account changed meanwhile.
                webAuthToken.withLock { if $0 == token { $0 = next } }
            }
            return answer
        } catch  where error.error.code == .connectionDropped {
            // As HTTPTransport reports it: the request may have been served.
            throw TransportError.lost()
        } catch {
            // As in HTTPTransport: a cancelled request throws `CancellationError`, not the
            // service's error.
            if Task.isCancelled { throw CancellationError() }
            throw ServiceFailure(error.error, records: error.records)
        }
    }
}

extension CloudService {
    /// The answer to a request, or its refusal.
    fileprivate func result<E: ServedEndpoint>(
        of endpoint: E.Type, _ request: E.Request, from credentials: Credentials,
        at container: ContainerAddress, scope: DatabaseScope?
    ) async -> Result<ServedAnswer<E.Answer>, RequestFailure> {
        do {
            return .success(
                try await respond(
                    to: E.self, request, from: credentials, at: container, scope: scope))
        } catch {
            return .failure(error)
        }
    }
}
