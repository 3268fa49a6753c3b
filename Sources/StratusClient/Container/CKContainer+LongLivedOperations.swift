import Foundation

// Operations here end with their process: there is no other process that could go on with them. So
// none is ever left over from an earlier start, which is what an app asks for when it starts.
extension CKContainer {
    /// The long-lived operations of earlier starts that still run: none, ever.
    ///
    /// What must survive a crash belongs into `CKSyncEngine`, or into a queue of the app's own.
    public func allLongLivedOperationIDs() async throws -> [CKOperation.ID] { [] }

    @preconcurrency
    public func fetchAllLongLivedOperationIDs(
        completionHandler: @escaping @Sendable ([CKOperation.ID]?, (any Error)?) -> Void
    ) {
        core.call({ try await self.allLongLivedOperationIDs() }) {
            $0.hand(to: completionHandler)
        }
    }

    /// The operation of that identifier if it is left from an earlier start: nil, ever.
    public func longLivedOperation(for operationID: CKOperation.ID) async throws -> CKOperation? {
        nil
    }

    @preconcurrency
    public func fetchLongLivedOperation(
        withID operationID: CKOperation.ID,
        completionHandler: @escaping @Sendable (CKOperation?, (any Error)?) -> Void
    ) {
        core.call({ try await self.longLivedOperation(for: operationID) }) { result in
            completionHandler(result.success.flatMap { $0 }, result.failure)
        }
    }
}
