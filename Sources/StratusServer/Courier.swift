import Hummingbird
import ServiceLifecycle
import StratusRecords
import StratusService
import StratusWire

extension Routes {
    /// The web courier: `GET /courier/aps?tok=…` is held open until there is a notification, and
    /// answers with it, or with `{}` when its time is over.
    ///
    /// The push token is the credential; whoever has the address may listen. A client that goes away
    /// takes no notification with it.
    func addCourier(to router: Router<BasicRequestContext>) {
        router.get("courier/aps") { request, _ in
            await respond(to: request) {
                guard let token = request.uri.queryParameters["tok"] else {
                    throw RequestFailure(.unknownAddress)
                }
                let seconds = service.settings.limits.longPollSeconds
                let payload = try await cancelWhenGracefulShutdown {
                    try await request.body.consumeWithCancellationOnInboundClose { _ in
                        try await service.nextNotification(
                            pushToken: String(token), timeoutSeconds: seconds)
                    }
                }
                guard let payload else { return Response(wireBytes: Array("{}".utf8)) }
                return Response(wireBytes: wireBytes(of: payload))
            }
        }
    }
}
