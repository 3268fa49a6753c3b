import Foundation
import StratusRuntime

/// What an app chose for one sign-in, and how it knows the answer to be its own.
///
/// The state is known to the app, the service's page and the person's browser alone. An address without
/// it was made by somebody else, who would like the person to go on as another user.
struct SignInCallback: Sendable {
    static let stateBytes = 24
    private static let maximumTokenBytes = 4_096

    let state: String

    init(world: World) {
        state = world.randomBytes(Self.stateBytes).map {
            String($0 >> 4, radix: 16) + String($0 & 15, radix: 16)
        }.joined()
    }

    /// The token in the query of an address to which a browser was sent; nil when it is not the answer to this
    /// sign-in: a state or a token that is missing, empty, another's or there twice.
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

    /// Compared without an early end, so that the time tells nothing.
    private func isState(_ text: String) -> Bool {
        text.utf8.count == state.utf8.count
            && zip(text.utf8, state.utf8).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }
}
