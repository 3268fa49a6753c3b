import Foundation

// Operations end with their process (see CKOperation.Configuration.isLongLived), so there are never
// any to find.
extension CKContainer {
    /// The operations that outlived their process: none.
    public func allLongLivedOperationIDs() async throws -> [CKOperation.ID] { [] }

    /// An operation that outlived its process: nil.
    public func longLivedOperation(for operationID: CKOperation.ID) async throws -> CKOperation? {
        nil
    }

    @preconcurrency
    public func fetchAllLongLivedOperationIDs(
        completionHandler: @escaping @Sendable ([CKOperation.ID]?, (any Error)?) -> Void
    ) {
        core.callbackQueue.async { completionHandler([], nil) }
    }

    @preconcurrency
    public func fetchLongLivedOperation(
        withID operationID: CKOperation.ID,
        completionHandler: @escaping @Sendable (CKOperation?, (any Error)?) -> Void
    ) {
        core.callbackQueue.async { completionHandler(nil, nil) }
    }
}
