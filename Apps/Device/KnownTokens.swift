import Crypto
import Foundation
import StratusRecords

/// The users of the tokens that were used on this device, so that the same person can start
/// offline.
///
/// Only hashes of tokens are stored, so that the file reveals no token.
package struct KnownTokens: Sendable {
    /// Used only by this process, like the folder that it is in.
    package let path: String

    package init(path: String) {
        self.path = path
    }

    /// - Returns: nil for a token that was never used here.
    package func userRecordName(of token: String) -> String? {
        userRecordNamesByHash[Self.hash(of: token)]
    }

    package func remember(_ userRecordName: String, of token: String) throws {
        var names = userRecordNamesByHash
        names[Self.hash(of: token)] = userRecordName
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
        do {
            try encoder.encode(names).writePrivately(to: path)
        } catch {
            throw LockedFolder.Failure(
                description: "The file \(path) cannot be written; make its folder writable.")
        }
    }

    private var userRecordNamesByHash: [String: String] {
        guard let data = FileManager.default.contents(atPath: path) else { return [:] }
        // If the file cannot be read, the service is asked again for the tokens' users.
        return (try? JSONDecoder().decode([String: String].self, from: data)) ?? [:]
    }

    /// Tokens are long and random, so a hash without a salt cannot be reversed.
    private static func hash(of token: String) -> String {
        Hexadecimal.text(SHA256.hash(data: Data(token.utf8)))
    }
}
