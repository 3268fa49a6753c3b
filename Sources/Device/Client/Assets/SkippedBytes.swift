import Synchronization

/// Skips the first bytes of an answer that arrives in pieces.
final class SkippedBytes: Sendable {
    private let left: Mutex<Int64>

    init(_ count: Int64) { left = Mutex(count) }

    /// Returns the part of the next piece that is not skipped.
    func rest(of piece: [UInt8]) -> [UInt8] {
        let count = left.withLock { left in
            let count = min(left, Int64(piece.count))
            left -= count
            return Int(count)
        }
        return count == 0 ? piece : Array(piece[count...])
    }
}
