import Synchronization

/// The web-auth token of a transport: passed in or fetched by signing in, and replaced with every
/// answer.
///
/// When several requests find the token missing or refused at once, only one of them signs in.
final class WebAuthSession: Sendable {
    private struct State {
        var token: String?
        /// The name to sign in under if there is no valid token.
        var developmentUser: String?
        var signIn: Task<String, any Error>?
        var changeCount = 0
        /// Called with each token in an answer.
        var notify: (@Sendable (String) -> Void)?
    }

    private let state: Mutex<State>

    init(token: String?, developmentUser: String?) {
        state = Mutex(State(token: token, developmentUser: developmentUser))
    }

    var canSignIn: Bool { state.withLock { $0.developmentUser != nil } }

    /// How often the account was replaced.
    var changeCount: Int { state.withLock { $0.changeCount } }

    /// Switches to another account's token; nil signs out.
    ///
    /// - Parameter notify: called with each token that follows.
    func change(to token: String?, notify: (@Sendable (String) -> Void)? = nil) {
        state.withLock {
            $0 = State(token: token, changeCount: $0.changeCount + 1, notify: notify)
        }
    }

    /// The token to send; nil if no user is signed in. Signs in first if there is no token and a
    /// user is named.
    func token(signIn: @escaping @Sendable (String) async throws -> String) async throws -> String?
    {
        if let token = state.withLock({ $0.token }) { return token }
        guard canSignIn else { return nil }
        return try await renewedToken(after: nil, signIn: signIn)
    }

    /// Signs in again, unless another request has done so since the refused token was read.
    func renewedToken(
        after refused: String?, signIn: @escaping @Sendable (String) async throws -> String
    ) async throws -> String? {
        let task: Task<String, any Error>? = state.withLock { state in
            guard let developmentUser = state.developmentUser, state.token == refused else {
                return nil
            }
            if let running = state.signIn { return running }
            let task = Task { try await signIn(developmentUser) }
            state.signIn = task
            return task
        }
        guard let task else { return state.withLock { $0.token } }
        do {
            let token = try await task.value
            finish(task, token: token)
            return token
        } catch {
            finish(task, token: nil)
            throw error
        }
    }

    private func finish(_ task: Task<String, any Error>, token: String?) {
        state.withLock { state in
            guard state.signIn == task else { return }
            state.signIn = nil
            if let token { state.token = token }
        }
    }

    /// Adopts the token of an answer, unless another token was adopted meanwhile. Of two answers
    /// that cross, either may win, because earlier tokens of a session stay valid; an answer to an
    /// earlier account never does.
    func adopt(_ token: String, after sent: String) {
        let notify: (@Sendable (String) -> Void)? = state.withLock { state in
            guard state.token == sent else { return nil }
            state.token = token
            return state.notify
        }
        notify?(token)
    }
}
