import StratusRuntime
import StratusSchema
import StratusStorage
import Synchronization

/// Notices when another process has changed the directory, such as the command line beside a service:
/// then what was remembered of it is forgotten.
final class DirectoryWatch: Sendable {
    fileprivate static let intervalMilliseconds: Int64 = 1_000

    fileprivate struct State {
        var askedMilliseconds: Int64?
        var changes: Int64?
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

    /// Asks at most once a second, so that requests do not pay for it.
    func refresh() async throws {
        let now = world.nowMilliseconds()
        guard state.withLock({ $0.isDue(atMilliseconds: now) }) else { return }
        let changes = try await directory.changesByOthers()
        guard state.withLock({ $0.hasChanged(to: changes) }) else { return }
        schemas.forget()
        accounts.forget()
    }
}

extension DirectoryWatch.State {
    /// Whether it is time to ask. A caller who gets true must ask.
    fileprivate mutating func isDue(atMilliseconds now: Int64) -> Bool {
        // A clock that was set back must not keep the service from asking.
        if let asked = askedMilliseconds, abs(now - asked) < DirectoryWatch.intervalMilliseconds {
            return false
        }
        askedMilliseconds = now
        return true
    }

    fileprivate mutating func hasChanged(to changes: Int64) -> Bool {
        defer { self.changes = changes }
        return self.changes != changes
    }
}
