import Crypto
import Foundation
import StratusRecords

/// The digest of a file, to detect that its bytes changed.
enum FileDigest {
    /// Bytes that are read at a time.
    private static let pieceBytes = 1 << 20

    /// The SHA-256 of a file; nil if it cannot be read, which the save of its asset reports.
    static func text(of url: URL) -> String? {
        // The asset is then saved, and the save throws the error.
        guard let file = try? FileHandle(forReadingFrom: url) else { return nil }
        var digest = SHA256()
        do {
            while let piece = try file.read(upToCount: pieceBytes), !piece.isEmpty {
                digest.update(data: piece)
            }
            try file.close()
        } catch {
            // The asset is then saved, and the save throws the error.
            return nil
        }
        return Hexadecimal.text(digest.finalize())
    }
}
