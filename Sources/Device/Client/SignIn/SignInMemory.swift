import StratusRuntime
import Synchronization

/// A connection's pending sign-in and its stored one.
final class SignInMemory: Sendable {
    private struct State {
        var pending: SignInCallback?
        var kept: KeptSignIn?
        var keptUptimeSeconds: Double?
        /// Why the stored sign-in cannot be used.
        var refusal: CKError?
    }

    /// Tokens are replaced with every answer but stay valid much longer, so one a minute is stored.
    private static let secondsBetweenTokens: Double = 60

    private let state = Mutex(State())

    /// The sign-in that is stored on this device.
    var kept: KeptSignIn? { state.withLock { $0.kept } }

    /// Why the stored sign-in cannot be used; the first request fails with it.
    var refusal: CKError? { state.withLock { $0.refusal } }

    func refuses(_ error: CKError) { state.withLock { $0.refusal = error } }

    func began(_ callback: SignInCallback) { state.withLock { $0.pending = callback } }

    /// The token of a URL that answers the pending sign-in, which then ends.
    func takeToken(inQuery query: String) -> String? {
        state.withLock { state in
            guard let token = state.pending?.token(inQuery: query) else { return nil }
            state.pending = nil
            return token
        }
    }

    func keeps(_ signIn: KeptSignIn?, keptAt uptimeSeconds: Double?) {
        state.withLock {
            $0.refusal = nil
            $0.kept = signIn
            $0.keptUptimeSeconds = uptimeSeconds
        }
    }

    /// The stored sign-in with its next token, if that must be stored now.
    func renewed(_ token: String, uptimeSeconds: Double) -> KeptSignIn? {
        state.withLock { state in
            guard state.kept != nil,
                uptimeSeconds - (state.keptUptimeSeconds ?? -.infinity)
                    >= Self.secondsBetweenTokens
            else { return nil }
            state.kept?.webAuthToken = token
            state.keptUptimeSeconds = uptimeSeconds
            return state.kept
        }
    }
}
