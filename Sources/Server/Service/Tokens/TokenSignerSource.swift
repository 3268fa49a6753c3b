import StratusStorage
import Synchronization

/// The token signer of a service, made from the directory's key at its first use.
final class TokenSignerSource: Sendable {
    private let directory: any Directory
    private let known = Mutex<TokenSigner?>(nil)

    init(directory: any Directory) {
        self.directory = directory
    }

    func signer() async throws -> TokenSigner {
        if let signer = known.withLock({ $0 }) { return signer }
        let signer = TokenSigner(key: try await directory.signingKey())
        known.withLock { $0 = signer }
        return signer
    }
}
