import Hummingbird

extension Routes {
    /// `GET /health` answers `{"status":"ok"}` as soon as the service takes requests.
    func addHealth(to router: Router<ServerContext>) {
        router.get("health") { _, _ in
            Response(wireBytes: Array(#"{"status":"ok"}"#.utf8))
        }
    }
}
