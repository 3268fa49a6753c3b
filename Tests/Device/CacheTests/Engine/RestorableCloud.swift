import StratusClient
import StratusRecords
import StratusRuntime
import StratusStorage
import StratusTesting
import StratusWire
import Synchronization

/// A cloud that an older copy can replace while its devices stay connected.
final class RestorableCloud: Sendable {
    private struct State {
        var storage = SQLiteStorageEngine.inMemory()
        var routes: [Route] = []
    }

    /// A device's connection to the current cloud.
    private final class Route: PassingTransport {
        private let current: Mutex<any AccountTransport>
        private let answersToLose = Mutex(0)

        init(_ transport: any AccountTransport) { current = Mutex(transport) }

        var inner: any AccountTransport { current.withLock { $0 } }

        func lead(to transport: any AccountTransport) { current.withLock { $0 = transport } }

        func send<E: Endpoint>(
            _ endpoint: E.Type, _ request: E.Request, to target: RequestTarget,
            timeoutSeconds: Double
        ) async throws -> E.Answer {
            let answer = try await inner.send(
                endpoint, request, to: target, timeoutSeconds: timeoutSeconds)
            guard E.self is RecordsModify.Type else { return answer }
            let isLost = answersToLose.withLock { count in
                defer { count = max(0, count - 1) }
                return count > 0
            }
            if isLost { throw TransportError(.answerLost, "The answer was lost.") }
            return answer
        }

        func loseNextAnswer() { answersToLose.withLock { $0 = 1 } }
    }

    private let state = Mutex(State())

    private func transport() async throws -> any AccountTransport {
        let cloud = TestCloud(storage: state.withLock { $0.storage })
        let session = try await cloud.service.signInForDevelopment(user: "alice")
        let number = state.withLock { $0.routes.count }
        return InProcessTransport(
            service: cloud.service, webAuthToken: session.webAuthToken, device: "device \(number)")
    }

    /// Adds a device of the same person, whose engine syncs on request.
    func device() async throws -> EngineDevice {
        let route = Route(try await transport())
        state.withLock { $0.routes.append(route) }
        return try EngineDevice(CloudConnection(transport: route, hasAccount: true))
    }

    /// The device with this number gets no answer to its next save.
    func loseNextAnswer(ofDevice number: Int) {
        state.withLock { $0.routes[number] }.loseNextAnswer()
    }

    func copy() throws -> SQLiteStorageEngine {
        try state.withLock { try $0.storage.copyInMemory(world: .live) }
    }

    /// Restores a copy; later changes are lost.
    func restore(_ copy: SQLiteStorageEngine) async throws {
        let storage = try copy.copyInMemory(world: .live)
        state.withLock { $0.storage = storage }
        for route in state.withLock({ $0.routes }) { route.lead(to: try await transport()) }
    }
}
