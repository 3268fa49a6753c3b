import HTTPTypes
import Hummingbird
import StratusService

extension Routes {
    /// `GET /health` returns whether the service does all of its work: `{"status":"ready"}`.
    func addHealth(to router: Router<ServerContext>) {
        router.get("health") { [service] _, _ in
            let health = service.health
            return Response(
                status: health.status == .notReady ? .serviceUnavailable : .ok,
                wireBytes: Array(Self.body(of: health).utf8))
        }
    }

    private static func body(of health: ServiceHealth) -> String {
        let status = #""status":"\#(health.status.rawValue)""#
        guard health.status != .ready else { return "{\(status)}" }
        return #"{\#(status),"damagedDatabases":\#(health.damagedDatabases),"#
            + #""readOnly":\#(health.isReadOnly)}"#
    }
}
