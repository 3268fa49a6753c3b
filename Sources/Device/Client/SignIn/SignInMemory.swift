import StratusRuntime
import Synchronization

/// What a connection knows of its sign-ins: the one that is under way, and the one that is kept.
final class SignInMemory: Sendable {
    private struct State {
        var pending: SignInCallback?
        var kept: KeptSignIn?
        var keptUptimeSeconds: Double?
        /// Why the sign-in that is kept cannot be used.
        var refusal: CKError?
    }

    /// Tokens are replaced with every answer and stay good for much longer: one a minute is kept.
    private static let secondsBetweenTokens: Double = 60

    private let state = Mutex(State())

    /// The sign-in whose token is kept on this device.
    var kept: KeptSignIn? { state.withLock { $0.kept } }

    /// Why the kept sign-in cannot be used; told by the first request.
    var refusal: CKError? { state.withLock { $0.refusal } }

    func refuses(_ error: CKError) { state.withLock { $0.refusal = error } }

    func began(_ callback: SignInCallback) { state.withLock { $0.pending = callback } }

    /// The token of an address that brings the pending sign-in's, which is over then.
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

    /// The kept sign-in with its next token, when that is to be kept.
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
