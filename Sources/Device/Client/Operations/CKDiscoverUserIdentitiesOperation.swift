import Foundation

/// Finds people by address or user record if they agreed to be found in the container.
///
/// Nothing is reported for people who are not found. Deprecated by Apple, whose current systems find no one.
public final class CKDiscoverUserIdentitiesOperation: CKOperation, @unchecked Sendable {
    // `@unchecked Sendable`, as in ``CKOperation``: settings and blocks are set before it is enqueued, and the rest is
    // touched only while it performs.

    /// The addresses, phone numbers and user records to look up. Empty by default, which finds no one.
    public var userIdentityLookupInfos: [CKUserIdentity.LookupInfo] = []

    /// Called once for each person who was found.
    public var userIdentityDiscoveredBlock: ((CKUserIdentity, CKUserIdentity.LookupInfo) -> Void)?
    /// Succeeds unless the operation failed as a whole; a failed lookup counts as a person not found.
    public var discoverUserIdentitiesResultBlock: ((Result<Void, any Error>) -> Void)?

    /// Makes an operation that looks people up.
    public convenience init(userIdentityLookupInfos: [CKUserIdentity.LookupInfo]) {
        self.init(operationID: UUID().uuidString)
        self.userIdentityLookupInfos = userIdentityLookupInfos
    }

    override func perform() async throws {
        let results = try await containerSession.identities(for: userIdentityLookupInfos)
        deliver {
            self.forEach(results) { info, result in
                // A person whose lookup failed counts as not found.
                if let identity = result.success, identity.hasiCloudAccount {
                    self.userIdentityDiscoveredBlock?(identity, info)
                }
            }
        }
    }

    override func end(_ error: CKError?) {
        discoverUserIdentitiesResultBlock?(Result(error))
        (userIdentityDiscoveredBlock, discoverUserIdentitiesResultBlock) = (nil, nil)
        super.end(error)
    }
}
