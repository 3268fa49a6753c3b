/// The entries of one index of one zone in memory, in order.
///
/// Copies share the chunks that they do not change; a change costs a chunk and the list of chunks.
struct SortedEntries: Sendable {
    private static let entriesPerChunk = 256

    /// None is empty; each begins after the end of the one before.
    private var chunks: [[IndexEntry]] = []

    var isEmpty: Bool { chunks.isEmpty }

    mutating func insert(_ entry: IndexEntry) {
        guard !chunks.isEmpty else {
            chunks = [[entry]]
            return
        }
        let chunk = max(firstChunk { $0[0] > entry } - 1, 0)
        let index = Self.lowerBound(of: entry, in: chunks[chunk])
        if index < chunks[chunk].count, chunks[chunk][index] == entry { return }
        chunks[chunk].insert(entry, at: index)
        guard chunks[chunk].count > Self.entriesPerChunk else { return }
        let half = chunks[chunk].count / 2
        chunks.insert(Array(chunks[chunk][half...]), at: chunk + 1)
        chunks[chunk].removeSubrange(half...)
    }

    mutating func remove(_ entry: IndexEntry) {
        let chunk = firstChunk { $0[0] > entry } - 1
        guard chunk >= 0 else { return }
        let index = Self.lowerBound(of: entry, in: chunks[chunk])
        guard index < chunks[chunk].count, chunks[chunk][index] == entry else { return }
        chunks[chunk].remove(at: index)
        if chunks[chunk].isEmpty { chunks.remove(at: chunk) }
    }

    /// Calls `body` for the entries strictly between two, until it returns false.
    func forEach(
        between bounds: (IndexEntry, IndexEntry), isAscending: Bool,
        _ body: (IndexEntry) -> Bool
    ) {
        if isAscending {
            var chunk = max(firstChunk { $0[0] > bounds.0 } - 1, 0)
            while chunk < chunks.count {
                for entry in chunks[chunk] where entry > bounds.0 {
                    if entry >= bounds.1 || !body(entry) { return }
                }
                chunk += 1
            }
        } else {
            var chunk = firstChunk { $0[0] >= bounds.1 } - 1
            while chunk >= 0 {
                for entry in chunks[chunk].reversed() where entry < bounds.1 {
                    if entry <= bounds.0 || !body(entry) { return }
                }
                chunk -= 1
            }
        }
    }

    /// The number of the first chunk for which the condition holds; it holds for all after it.
    private func firstChunk(where holds: ([IndexEntry]) -> Bool) -> Int {
        var (low, high) = (0, chunks.count)
        while low < high {
            let middle = (low + high) / 2
            if holds(chunks[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }

    private static func lowerBound(of entry: IndexEntry, in chunk: [IndexEntry]) -> Int {
        var (low, high) = (0, chunk.count)
        while low < high {
            let middle = (low + high) / 2
            if chunk[middle] < entry { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
