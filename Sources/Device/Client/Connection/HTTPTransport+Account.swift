import StratusRecords
import StratusWire

extension HTTPTransport: AccountTransport {
    /// Apple's share links use another host than its service.
    public var shareLinkOrigin: String {
        origin == Self.applesOrigin ? "https://www.icloud.com" : origin
    }

    public func changeAccount(webAuthToken: String?) {
        session.change(to: webAuthToken)
    }

    public func webAuthToken(
        forAPIToken apiToken: String, to target: RequestTarget, timeoutSeconds: Double
    ) async throws -> String {
        let own = try await session.token { try await self.signIn($0, timeoutSeconds) }
        let next = try await exchange(
            UsersCaller.self, EmptyBody(), nil, target, own, timeoutSeconds, apiToken: apiToken
        ).webAuthToken
        guard let token = next ?? own else {
            throw CKError.notSignedIn(
                "A token belongs to an account, and no user is signed in.", at: origin)
        }
        return token
    }
}
