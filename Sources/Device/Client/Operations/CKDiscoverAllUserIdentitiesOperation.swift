import Foundation

/// Finds the people in the user's address book; finds no one, because Stratus's service has no address book.
///
/// Deprecated by Apple, whose current systems find no one either.
public final class CKDiscoverAllUserIdentitiesOperation: CKOperation, @unchecked Sendable {
    // `@unchecked Sendable`, as in ``CKOperation``: settings and blocks are set before it is enqueued, and the rest is
    // touched only while it performs.

    /// Called once for each person who was found; with Stratus's service, never.
    public var userIdentityDiscoveredBlock: ((CKUserIdentity) -> Void)?
    /// Called once at the end; fails only if the operation failed as a whole.
    public var discoverAllUserIdentitiesResultBlock: ((Result<Void, any Error>) -> Void)?

    override func perform() async throws {
        let identities = try await containerSession.contacts()
        deliver {
            self.forEach(identities) { self.userIdentityDiscoveredBlock?($0) }
        }
    }

    override func end(_ error: CKError?) {
        discoverAllUserIdentitiesResultBlock?(Result(error))
        (userIdentityDiscoveredBlock, discoverAllUserIdentitiesResultBlock) = (nil, nil)
        super.end(error)
    }
}
