import StratusRecords
import StratusRuntime
import Synchronization

/// Slows down password guessing: for an account from one network address, for an account from all addresses, and for a
/// network address over all accounts. Only wrong passwords count. A network address from which an account was signed in
/// to before is not slowed by others' guesses at the account, nor by its neighbours' guesses.
final class PasswordGuesses: Sendable {
    /// An account and the network address of an attempt.
    private struct Place: Hashable, Sendable {
        var account: String
        var networkAddress: String

        /// The key in the table of attempts; neither part has a space.
        var key: String { account + " " + networkAddress }
    }

    private let world: World
    private let ofPlaces: AttemptLimiter
    private let ofAccounts: AttemptLimiter
    private let ofAddresses: AttemptLimiter
    /// The places from which accounts were signed in to recently; lost at a restart.
    private let known = Mutex(LRUCache<Place, Bool>(capacity: 100_000))

    init(limits: Limits, world: World) {
        self.world = world
        ofPlaces = AttemptLimiter(burst: Double(limits.wrongPasswords), secondsPerAttempt: 60)
        ofAccounts = AttemptLimiter(
            burst: Double(limits.wrongPasswordsPerAccount), secondsPerAttempt: 60)
        ofAddresses = AttemptLimiter(
            burst: Double(limits.wrongPasswordsPerAddress), secondsPerAttempt: 10)
    }

    /// Counts an attempt as a wrong one until it is known to be right.
    ///
    /// - Returns: The attempt, to be taken back when it succeeds.
    /// - Throws: ``SignInRefusal/tooMany(_:)``.
    func take(account: String, from networkAddress: String) throws -> Attempt {
        let place = Place(account: account, networkAddress: networkAddress)
        let isKnown = known.withLock { $0[place] } != nil
        let now = world.uptimeMilliseconds
        var taken: [(AttemptLimiter, String)] = []
        let limiters =
            isKnown
            ? [(ofPlaces, place.key)]
            : [(ofPlaces, place.key), (ofAddresses, networkAddress), (ofAccounts, account)]
        for (limiter, key) in limiters {
            if let seconds = limiter.take(key, nowMilliseconds: now) {
                for (limiter, key) in taken { limiter.giveBack(key) }
                throw SignInRefusal.tooMany(seconds)
            }
            taken.append((limiter, key))
        }
        func takeBack() {
            for (limiter, key) in taken { limiter.giveBack(key) }
        }
        return Attempt(
            succeeded: { [self] in
                takeBack()
                known.withLock { $0[place] = true }
            }, wasNotChecked: takeBack)
    }

    /// Remembers where an account was created: its owner is there.
    func know(account: String, at networkAddress: String) {
        known.withLock { $0[Place(account: account, networkAddress: networkAddress)] = true }
    }

    /// Counts an attempt whose account is not known yet.
    ///
    /// - Throws: ``SignInRefusal/tooMany(_:)``.
    func take(from networkAddress: String) throws -> Attempt {
        let now = world.uptimeMilliseconds
        if let seconds = ofAddresses.take(networkAddress, nowMilliseconds: now) {
            throw SignInRefusal.tooMany(seconds)
        }
        let takeBack = { [ofAddresses] in ofAddresses.giveBack(networkAddress) }
        return Attempt(succeeded: takeBack, wasNotChecked: takeBack)
    }

    /// An attempt that counts unless one of these is called.
    struct Attempt {
        /// Takes the attempt back, because the password was right.
        let succeeded: () -> Void
        /// Takes the attempt back, because there was no room to check the password.
        let wasNotChecked: () -> Void
    }
}
