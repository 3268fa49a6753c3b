import Foundation

/// Finds the people in the user's address book; finds nobody, because Stratus's service has no
/// address book.
///
/// Deprecated by Apple, whose current systems find nobody either.
public final class CKDiscoverAllUserIdentitiesOperation: CKOperation, @unchecked Sendable {
    // `@unchecked Sendable`: as ``CKOperation`` says: settings and blocks are set before it is enqueued,
    // and the rest is touched only while it performs.

    public var userIdentityDiscoveredBlock: ((CKUserIdentity) -> Void)?
    public var discoverAllUserIdentitiesResultBlock: ((Result<Void, any Error>) -> Void)?

    private var oldCompletionBlock: (((any Error)?) -> Void)?

    @available(*, deprecated, message: "Use discoverAllUserIdentitiesResultBlock.")
    public var discoverAllUserIdentitiesCompletionBlock: (((any Error)?) -> Void)? {
        get { oldCompletionBlock }
        set { oldCompletionBlock = newValue }
    }

    override func perform() async throws {
        let identities = try await containerSession.contacts()
        deliver {
            self.forEach(identities) { self.userIdentityDiscoveredBlock?($0) }
        }
    }

    override func report(_ error: CKError?) {
        discoverAllUserIdentitiesResultBlock?(Result(error))
        oldCompletionBlock?(error)
    }

    override func forgetBlocks() {
        super.forgetBlocks()
        userIdentityDiscoveredBlock = nil
        discoverAllUserIdentitiesResultBlock = nil
        oldCompletionBlock = nil
    }
}
