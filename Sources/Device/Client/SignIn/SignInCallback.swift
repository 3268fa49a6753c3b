import Foundation
import StratusRecords
import StratusRuntime

/// The callback address and state of one sign-in, by which an app recognizes its answer.
///
/// Only the app, the service's page and the person's browser know the state. An address without it
/// was made by an attacker to sign the person in as another user.
struct SignInCallback: Sendable {
    /// Random bytes: too many to guess the state.
    static let stateBytes = 24
    /// The most bytes of a token; the service's are much shorter.
    private static let maximumTokenBytes = 4_096

    let state: String

    init(world: World) {
        state = Hexadecimal.text(world.randomBytes(Self.stateBytes))
    }

    /// The token in the query of a callback URL; nil when it does not answer this sign-in: the
    /// state or token is missing, empty, wrong or present twice.
    func token(inQuery query: String) -> String? {
        var values: [String: [String]] = [:]
        for pair in query.split(separator: "&") {
            let halves = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = String(halves[0]).removingPercentEncoding, halves.count == 2,
                let value = String(halves[1]).removingPercentEncoding
            else { return nil }
            values[name, default: []].append(value)
        }
        guard let states = values["state"], states.count == 1, isState(states[0]),
            let tokens = values["ckWebAuthToken"], tokens.count == 1,
            (1...Self.maximumTokenBytes).contains(tokens[0].utf8.count),
            tokens[0].utf8.allSatisfy({ (0x21...0x7E).contains($0) }),
            (values["ckSession"] ?? tokens) == tokens
        else { return nil }
        return tokens[0]
    }

    private func isState(_ text: String) -> Bool { isEqualInConstantTime(text.utf8, state.utf8) }
}
