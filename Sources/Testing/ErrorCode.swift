import StratusClient

/// The code of the error that a body throws; nil if it does not throw.
package func codeOf(_ body: () async throws -> Void) async -> CKError.Code? {
    do {
        try await body()
        return nil
    } catch {
        return (error as? CKError)?.code
    }
}
