import Hummingbird
import StratusRecords
import StratusService
import StratusWire

extension Routes {
    /// `/dev/faults`: what shall go wrong; only with `--dev`.
    func addFaults(to router: Router<ServerContext>) {
        let path: RouterPath = "dev/faults"
        router.post(path) { request, _ in
            await respond(to: request) {
                let body = try await request.collectBody(service.settings.limits)
                try service.faults.add(decode(DevFaults.Script.self, from: body).faults)
                return remainingFaults()
            }
        }
        router.get(path) { request, _ in
            await respond(to: request) { remainingFaults() }
        }
        router.delete(path) { request, _ in
            await respond(to: request) {
                service.faults.clear()
                return remainingFaults()
            }
        }
    }

    private func remainingFaults() -> Response {
        Response(wireBytes: wireBytes(of: DevFaults.Script(faults: service.faults.remaining)))
    }
}
