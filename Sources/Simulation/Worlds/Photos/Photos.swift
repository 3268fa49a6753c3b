import Foundation
import StratusRuntime
import StratusTesting
import Synchronization

/// The files of a world with assets: what people give to records, and what devices keep.
final class Photos: Sendable {
    private struct State {
        var folder: URL?
        var looks: [(device: String, key: Ledger.Key, bytes: [UInt8])] = []
    }

    private let state = Mutex(State())

    deinit {
        if let folder = state.withLock({ $0.folder }) {
            // What is left goes with the system's folder.
            try? FileManager.default.removeItem(at: folder)
        }
    }

    /// Made when it is asked for first: in memory, where the system has files there, since every file is synced.
    ///
    /// - Throws: what the disk says.
    func folder() throws -> URL {
        if let folder = state.withLock({ $0.folder }) { return folder }
        let memory = URL(fileURLWithPath: "/dev/shm", isDirectory: true)
        let parent =
            FileManager.default.isWritableFile(atPath: memory.path)
            ? memory : FileManager.default.temporaryDirectory
        // Two runs of one seed may be under way at once; nothing of a run depends on the name.
        let folder = parent.appendingPathComponent(
            "stratus-world-\(World.live.makeUUID().uuidString)", isDirectory: true)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        state.withLock { $0.folder = folder }
        return folder
    }

    /// A text that is the same in each run: the folder's name is not.
    func withoutFolder(_ text: String) -> String {
        guard let folder = state.withLock({ $0.folder }) else { return text }
        return text.replacingOccurrences(of: folder.path, with: "photos")
    }

    /// A file as a camera makes it.
    func file(_ content: Int64) throws -> URL {
        let file = try folder().appendingPathComponent("source\(content)")
        try Data(Self.bytes(of: content)).write(to: file)
        return file
    }

    /// What a photo consists of: no two of different numbers are the same.
    static func bytes(of content: Int64) -> [UInt8] {
        var numbers = SeededNumbers(seed: UInt64(bitPattern: content))
        let size = [9, 700, 2_500, 7_000][numbers.below(4)]
        var bytes = withUnsafeBytes(of: content.littleEndian) { Array($0) }
        while bytes.count < size { bytes.append(UInt8(truncatingIfNeeded: numbers.next() >> 24)) }
        return bytes
    }

    /// The number of a photo; nil for what is none, or not all of one.
    static func content(of bytes: [UInt8]) -> Int64? {
        guard bytes.count >= 8 else { return nil }
        let content = bytes[..<8].reversed().reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
        let number = Int64(bitPattern: content)
        return Self.bytes(of: number) == bytes ? number : nil
    }

    func saw(_ bytes: [UInt8], of key: Ledger.Key, on device: String) {
        state.withLock { $0.looks.append((device, key, bytes)) }
    }

    /// What was seen since the last call.
    func takeLooks() -> [(device: String, key: Ledger.Key, bytes: [UInt8])] {
        state.withLock { state in
            defer { state.looks = [] }
            return state.looks
        }
    }
}
