import StratusRuntime
import StratusSchema
import StratusStorage
import Synchronization

/// Notices when another process has changed the directory, such as the command line beside a service: then the rows
/// that were kept in memory are dropped.
///
/// The check takes the directory's writer, and so waits for the disk while others write (sign-ins and shares do). While
/// requests come, the check runs beside them, before the last result is too old, and none of them waits.
final class DirectoryWatch: Sendable {
    /// No request relies on a check that was started longer ago than this.
    private static let intervalMilliseconds: Int64 = 1_000
    /// After this time, the next request starts a check beside it.
    private static let renewalMilliseconds: Int64 = 500

    private struct State {
        var askedMilliseconds: Int64?
        /// When the last check that has finished was started.
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

    /// Checks at most twice a second, so that requests do not pay for it.
    func refresh() async throws {
        let now = world.nowMilliseconds()
        // A simulation runs everything in one order: there, the request itself checks.
        let canRenew = world.runOnDisk == nil
        switch state.withLock({ Self.step(&$0, atMilliseconds: now, canRenew: canRenew) }) {
        case .goOn: return
        case .ask: try await ask(now)
        case .renew: renew(now)
        }
    }

    /// Returns when no check runs beside requests. Only tests wait for it: no answer shows that a check has ended.
    func waitForRenewal() async { await state.withLock { $0.renewal }?.value }

    /// Whether it is time to check; the caller that gets true must do it.
    private static func step(
        _ state: inout State, atMilliseconds now: Int64, canRenew: Bool
    ) -> Step {
        // A clock that was set back must not prevent the check.
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
                // The last result becomes too old; then a request checks itself and fails with the error.
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
