import Hummingbird
import StratusRecords
import StratusService
import StratusWire

extension Routes {
    /// `/dev/faults` reads and changes the fault script; only with `--dev`.
    func addFaults(_ faults: FaultScript, to router: Router<ServerContext>) {
        let path: RouterPath = "dev/faults"
        router.post(path) { request, _ in
            await respond(to: request) {
                let body = try await request.collectBody(service.settings.limits)
                try faults.add(decode(DevFaults.Script.self, from: body).items)
                return remaining(of: faults)
            }
        }
        router.get(path) { request, _ in
            await respond(to: request) { remaining(of: faults) }
        }
        router.delete(path) { request, _ in
            await respond(to: request) {
                faults.clear()
                return remaining(of: faults)
            }
        }
    }

    private func remaining(of faults: FaultScript) -> Response {
        Response(wireBytes: wireBytes(of: DevFaults.Script(faults.remaining)))
    }
}
