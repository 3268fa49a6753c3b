import StratusService
import StratusTesting
import StratusWire

/// Holds back an answer of a cloud until the test releases it.
struct Gate: Sendable {
    /// The delay that stands for the gate; any other delay is a sleep.
    private static let seconds: Double = 1_234
    private let delayed = AsyncStream<Void>.makeStream()
    private let opened = AsyncStream<Void>.makeStream()

    func cloud() -> TestCloud {
        let (delayed, opened) = (delayed.continuation, opened.stream)
        return TestCloud(
            settings: ServiceSettings(
                isForDevelopment: true,
                world: .init(sleep: { seconds in
                    guard seconds == Self.seconds else {
                        return try await Task.sleep(for: .seconds(seconds))
                    }
                    delayed.yield()
                    for await _ in opened { break }
                })))
    }

    /// The next request to an endpoint waits at the gate.
    func delayNext(_ endpoint: any Endpoint.Type, of cloud: TestCloud) {
        cloud.faults.next(of: endpoint, .delay(seconds: Self.seconds))
    }

    func waitUntilDelayed() async {
        for await _ in delayed.stream { break }
    }

    func open() { opened.continuation.yield() }
}
