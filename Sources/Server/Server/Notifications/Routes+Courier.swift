import HTTPTypes
import Hummingbird
import ServiceLifecycle
import StratusRecords
import StratusService
import StratusWire
import Synchronization

extension Routes {
    /// The web courier: `GET /courier/aps?tok=…` is held open until there is a notification, and answers with it, or
    /// with `{}` when its time is over.
    ///
    /// The push token is the credential: everyone who has the address may listen. A client that disconnects does not
    /// lose a notification. A connection serves one poll.
    func addCourier(to router: Router<ServerContext>) {
        router.get("courier/aps") { request, context in
            var response = await respond(to: request) {
                try checkRate(of: request, context)
                guard let token = request.uri.queryParameters["tok"] else {
                    throw RequestFailure(.noPushToken)
                }
                let payload = try await poll(String(token), in: request)
                return Response(wireBytes: NotificationPayload.wireBytes(of: payload))
            }
            // Watching for a client that disconnects uses the connection up: it is closed after the answer. Without
            // this header, a client would send its next poll into the closing connection.
            response.headers[.connection] = "close"
            return response
        }
    }

    private func poll(_ token: String, in request: Request) async throws -> NotificationPayload? {
        let seconds = service.settings.limits.longPollSeconds
        let taken = Mutex<NotificationPayload?>(nil)
        do {
            return try await cancelWhenGracefulShutdown {
                try await request.body.consumeWithCancellationOnInboundClose { _ in
                    let payload = try await service.nextNotification(
                        pushToken: token, timeoutSeconds: seconds)
                    taken.withLock { $0 = payload }
                    return payload
                }
            }
        } catch is CancellationError {
            // The client disconnected, perhaps just when a notification was taken for it.
            if let payload = taken.withLock({ $0 }) {
                await service.giveBack(payload, pushToken: token)
            }
            return nil
        }
    }
}

extension ServiceError {
    fileprivate static let noPushToken = ServiceError(
        .notFound,
        "The long poll's address lacks the parameter tok; use the address that tokens/create answers."
    )
}
