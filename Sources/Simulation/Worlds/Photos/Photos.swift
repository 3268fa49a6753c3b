import Foundation
import StratusTesting
import Synchronization

/// The files of a world with assets: what people give to records, and what devices keep.
final class Photos: Sendable {
    private let place: WorldFolder
    private let looks = Mutex<[(device: String, key: Ledger.Key, bytes: [UInt8])]>([])

    init(in place: WorldFolder) { self.place = place }

    /// - Throws: the file system's error.
    func folder() throws -> URL { try place.url() }

    /// The text without the folder's name, which differs in each run.
    func withoutFolder(_ text: String) -> String { place.without(text) }

    /// Creates the file of a photo, as a camera would.
    func file(_ content: Int64) throws -> URL {
        let file = try folder().appendingPathComponent("source\(content)")
        try Data(Self.bytes(of: content)).write(to: file)
        return file
    }

    /// The bytes of a photo; photos with different numbers differ.
    static func bytes(of content: Int64) -> [UInt8] {
        var numbers = SeededNumbers(seed: UInt64(bitPattern: content))
        let size = [9, 700, 2_500, 7_000][numbers.below(4)]
        var bytes = withUnsafeBytes(of: content.littleEndian) { Array($0) }
        while bytes.count < size { bytes.append(UInt8(truncatingIfNeeded: numbers.next() >> 24)) }
        return bytes
    }

    /// The number of a photo; nil for anything else, or for an incomplete photo.
    static func content(of bytes: [UInt8]) -> Int64? {
        guard bytes.count >= 8 else { return nil }
        let content = bytes[..<8].reversed().reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
        let number = Int64(bitPattern: content)
        return Self.bytes(of: number) == bytes ? number : nil
    }

    func saw(_ bytes: [UInt8], of key: Ledger.Key, on device: String) {
        looks.withLock { $0.append((device, key, bytes)) }
    }

    /// The photos that were viewed since the last call.
    func takeLooks() -> [(device: String, key: Ledger.Key, bytes: [UInt8])] {
        looks.withLock { looks in
            defer { looks = [] }
            return looks
        }
    }
}
