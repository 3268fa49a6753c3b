import Foundation
import StratusRuntime
import StratusServer
import StratusService

/// The file that names the identity providers.
///
/// ```json
/// [{"issuer": "https://appleid.apple.com", "audiences": ["org.example.Trails"],
///   "keys": "https://appleid.apple.com/auth/keys", "algorithms": ["RS256"]}]
/// ```
enum IdentityProviderFile {
    private struct Entry: Decodable {
        var issuer: String
        var audiences: Set<String>
        /// An address or a path.
        var keys: String
        var algorithms: Set<String>?
    }

    /// - Throws: ``OneSentence``.
    static func read(_ path: String) throws -> [IdentityProvider] {
        let entries: [Entry]
        do {
            let data = try Data(contentsOf: URL(fileURLWithPath: path))
            entries = try JSONDecoder().decode([Entry].self, from: data)
        } catch {
            throw OneSentence(
                "The identity providers' file \(path) cannot be read: \(error). Correct the path of"
                    + " --identity-providers, or the file's JSON as Operations.md describes it.")
        }
        return try entries.map { entry in
            let algorithms = entry.algorithms ?? ["RS256", "ES256"]
            guard let keys = IdentityProviderKeys(entry.keys), !entry.audiences.isEmpty,
                !algorithms.isEmpty, algorithms.isSubset(of: IdentityProvider.knownAlgorithms)
            else {
                throw OneSentence(
                    """
                    The identity provider \(entry.issuer) lacks audiences, or keys at an https address \
                    or in a file, or has algorithms other than RSA or ECDSA. Correct it in \(path).
                    """)
            }
            return IdentityProvider(
                issuer: entry.issuer, audiences: entry.audiences, algorithms: algorithms,
                fetchKeys: { try await keys.fetch() })
        }
    }
}
