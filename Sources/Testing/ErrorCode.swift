import StratusClient

/// The code of the error that a body throws; nil when it throws none.
package func codeOf(_ body: () async throws -> Void) async -> CKError.Code? {
    do {
        try await body()
        return nil
    } catch {
        return (error as? CKError)?.code
    }
}
