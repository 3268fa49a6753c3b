import Crypto
import Foundation

/// Whose the tokens are that were used on this device, so that the same person can start offline.
///
/// Only hashes of tokens are kept: who reads the file learns no token.
struct KnownTokens: Sendable {
    /// Belongs to this process alone, like the folder that it lies in.
    let path: String

    /// - Returns: nil for a token that was never used here.
    func userRecordName(of token: String) -> String? {
        userRecordNamesByHash[Self.hash(of: token)]
    }

    func remember(_ userRecordName: String, of token: String) throws {
        var names = userRecordNamesByHash
        names[Self.hash(of: token)] = userRecordName
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
        do {
            try encoder.encode(names).writePrivately(to: path)
        } catch {
            throw DeviceFolder.Failure(
                description: "The file \(path) cannot be written; make its folder writable.")
        }
    }

    private var userRecordNamesByHash: [String: String] {
        guard let data = FileManager.default.contents(atPath: path) else { return [:] }
        // What cannot be read is learned again from the service.
        return (try? JSONDecoder().decode([String: String].self, from: data)) ?? [:]
    }

    /// Tokens are long and random, so a hash without a salt cannot be turned back.
    private static func hash(of token: String) -> String {
        SHA256.hash(data: Data(token.utf8))
            .map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}

extension Data {
    /// Replaces a file in one step; only its owner may read it.
    fileprivate func writePrivately(to path: String) throws {
        let draft = path + ".new"
        // A draft that a killed app left may have any content and mode; none there is as good.
        try? FileManager.default.removeItem(atPath: draft)
        guard
            FileManager.default.createFile(
                atPath: draft, contents: self, attributes: [.posixPermissions: 0o600])
        else { throw CocoaError(.fileWriteUnknown) }
        guard rename(draft, path) == 0 else {
            throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
        }
    }
}
