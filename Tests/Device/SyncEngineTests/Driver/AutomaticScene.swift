import StratusRecords
import StratusSyncEngine
import StratusTesting

/// A device whose engine syncs automatically, and its cloud.
struct AutomaticScene {
    let clock = TestClock()
    let cloud: TestCloud
    let phone: SwitchableDevice

    /// - Parameter listens: The device gets notifications, and the service has the same clock. Otherwise nothing
    ///   happens except what the test does, and only the engine sleeps.
    init(user: String? = "ida", listens: Bool = false) async throws {
        cloud = TestCloud(clock: listens ? clock : TestClock())
        phone = try await SwitchableDevice(
            cloud, "phone", user: user, automatically: true, clock: clock, listens: listens)
    }

    /// Starts the engine and waits until it has fetched and is at rest.
    func started() async -> EngineApp {
        _ = phone.app.engine
        await phone.app.waitForLog { $0.contains("didFetch scheduled") }
        await rest()
        return phone.app
    }

    /// Starts the engine and waits until it has sent a zone.
    func startedWithZone() async -> EngineApp {
        let app = await started()
        app.makeZone()
        await app.waitForLog { $0.contains("didSend scheduled") }
        return app
    }

    /// Starts an engine that is cancelled before its next request to a path.
    func startedToBeCancelled(
        atNext path: String, then body: @escaping @Sendable () async throws -> Void
    ) -> EngineApp {
        let engine = phone.app.engine
        phone.transport.beforeNext(path) {
            await engine.cancelOperations()
            try await body()
        }
        return phone.app
    }

    /// Lets the service send its gathered notifications: it sends the first change at once, and later ones after a
    /// second.
    func serviceNotifies() async {
        let window = Limits().gatheringSeconds
        await clock.waitForSleeper(seconds: window)
        clock.advance(bySeconds: window)
    }

    /// Waits until the engine sleeps until its next fetch is due.
    func rest() async { await clock.waitForSleeper(seconds: 890...900) }
}
