import Crypto
import StratusRecords
import StratusStorage
import StratusWire

extension UsersSessions: ServedEndpoint {
    public static let rules = EndpointRules<Self>(
        access: .user, effect: .idempotent, isCompressed: false,
        cost: { _ in 0 }, zones: { _ in [] }, link: { _, _ in })

    /// Only sessions that are valid for the container of the request: an app does not learn of
    /// other apps.
    public static func answer(_ call: EndpointCall<Self>) async throws -> Answer {
        let user = try call.context.user()
        guard let own = call.context.caller.session else {
            throw ServiceError.invalid(
                "The request is signed by a server, which has no sessions; list those of a signed-in user."
            )
        }
        let accounts = call.components.accounts
        var sessions = try await accounts.sessions(of: user, at: call.context.address)
        if !call.request.revoke.isEmpty {
            guard !call.request.revoke.contains(handle(of: own)) else {
                throw ServiceError.invalid(
                    "The session is this device's own; end it with users/signout.")
            }
            for session in sessions
            where call.request.revoke.contains(handle(of: session.identifier)) {
                try await accounts.revoke(session, at: call.context.address)
            }
            sessions = try await accounts.sessions(of: user, at: call.context.address)
        }
        return Answer(
            sessions: sessions.map { session in
                Session(
                    id: handle(of: session.identifier), device: session.device,
                    created: session.createdMilliseconds, lastUsed: session.lastUsedMilliseconds,
                    isCurrent: session.identifier == own)
            })
    }

    /// Does not reveal the identifier itself, which is part of the tokens.
    private static func handle(of identifier: String) -> String {
        Base64.text(Array(SHA256.hash(data: Array("session \(identifier)".utf8)).prefix(15)))
    }
}
