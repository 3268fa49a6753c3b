import StratusRuntime
import StratusSchema
import StratusStorage
import Synchronization

/// Notices when another process has changed the directory, such as the command line beside a service:
/// then what was remembered of it is forgotten.
///
/// Asking takes the directory's writer, and so waits for the disk where others write: who signs in or shares. While
/// requests come, it is asked beside them, before the last answer is too old, and none waits.
final class DirectoryWatch: Sendable {
    /// No request goes by an answer to what was asked longer ago.
    private static let intervalMilliseconds: Int64 = 1_000
    /// So long after it was asked last, it is asked beside a request.
    private static let renewalMilliseconds: Int64 = 500

    private struct State {
        var askedMilliseconds: Int64?
        /// When the last question was asked that was answered.
        var answeredMilliseconds: Int64?
        var changes: Int64?
        var renewal: Task<Void, Never>?
    }

    private enum Step {
        case goOn
        case renew
        case ask
    }

    private let directory: any Directory
    private let accounts: Accounts
    private let schemas: SchemaCache
    private let world: World
    private let state = Mutex(State())

    init(
        directory: any Directory, accounts: Accounts, schemas: SchemaCache, world: World
    ) {
        self.directory = directory
        self.accounts = accounts
        self.schemas = schemas
        self.world = world
    }

    /// Asks at most twice a second, so that requests do not pay for it.
    func refresh() async throws {
        let now = world.nowMilliseconds()
        // A simulation runs all of it in one order: it asks in the request.
        let canRenew = world.runOnDisk == nil
        switch state.withLock({ Self.step(&$0, atMilliseconds: now, canRenew: canRenew) }) {
        case .goOn: return
        case .ask: try await ask(now)
        case .renew: renew(now)
        }
    }

    /// Returns when nothing is asked beside requests. For tests.
    func waitForRenewal() async { await state.withLock { $0.renewal }?.value }

    /// Whether it is time to ask; the one who is told so has to.
    private static func step(
        _ state: inout State, atMilliseconds now: Int64, canRenew: Bool
    ) -> Step {
        // A clock that was set back must not keep the service from asking.
        func isOlder(_ milliseconds: Int64?, than age: Int64) -> Bool {
            milliseconds.map { abs(now - $0) >= age } ?? true
        }
        let pause = canRenew ? renewalMilliseconds : intervalMilliseconds
        guard isOlder(state.askedMilliseconds, than: pause) else { return .goOn }
        state.askedMilliseconds = now
        return isOlder(state.answeredMilliseconds, than: intervalMilliseconds) || !canRenew
            ? .ask : .renew
    }

    private func renew(_ now: Int64) {
        let task = world.startTask("directory watch") { [self] in
            do {
                try await ask(now)
            } catch {
                // The answer that there was becomes too old, and a request asks and fails.
            }
        }
        state.withLock { $0.renewal = task }
    }

    private func ask(_ now: Int64) async throws {
        let changes = try await directory.changesByOthers()
        let hasChanged = state.withLock { state in
            defer { state.changes = changes }
            state.answeredMilliseconds = now
            return state.changes != changes
        }
        guard hasChanged else { return }
        schemas.forget()
        accounts.forget()
    }
}
