import Synchronization

/// Leaves out the first bytes of an answer that comes in pieces.
final class SkippedBytes: Sendable {
    private let left: Mutex<Int64>

    init(_ count: Int64) { left = Mutex(count) }

    /// What of the next piece is not among the first bytes.
    func rest(of piece: [UInt8]) -> [UInt8] {
        let count = left.withLock { left in
            let count = min(left, Int64(piece.count))
            left -= count
            return Int(count)
        }
        return count == 0 ? piece : Array(piece[count...])
    }
}
