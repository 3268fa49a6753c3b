import StratusMatching
import StratusStorage

/// Collects the first records after a position from several sources, and keeps no more than a page.
struct SortedPage {
    private let order: RecordOrder
    private let limit: Int
    private let maximumBytes: Int
    private let start: QueryPosition?
    private var found: [RecordSearch.Found] = []
    private var bytes = 0
    /// The first position that did not fit: the page ends before it.
    private var ceiling: QueryPosition?
    /// How far all sources were read; nil when to their ends.
    private var bound: QueryPosition?

    init(order: RecordOrder, limit: Int, maximumBytes: Int, start: QueryPosition?) {
        self.order = order
        self.limit = limit
        self.maximumBytes = maximumBytes
        self.start = start
    }

    /// Adds a record, unless it comes before the start or after the page's end.
    ///
    /// - Returns: False when the record, and so all after it, come after the end.
    mutating func add(_ position: QueryPosition, _ row: RecordRow) -> Bool {
        if let start, !order.isBefore(start, position) { return true }
        if isBeyond(position) { return false }
        let isLast = found.last.map { order.isBefore($0.position, position) } ?? true
        let index = isLast ? found.count : place(of: position)
        found.insert(RecordSearch.Found(position: position, row: row), at: index)
        bytes += row.payload.count
        while found.count > limit || bytes > maximumBytes && found.count > 1 {
            let last = found.removeLast()
            bytes -= last.row.payload.count
            ceiling = last.position
        }
        return !isBeyond(position)
    }

    /// Whether a position comes after the page's end.
    func isBeyond(_ position: QueryPosition) -> Bool {
        ceiling.map { !order.isBefore(position, $0) } ?? false
    }

    /// Notes that a source was read only up to a position.
    mutating func end(at position: QueryPosition) {
        if bound.map({ order.isBefore(position, $0) }) ?? true { bound = position }
    }

    func page(_ scanned: Int) -> RecordSearch.Page {
        guard let bound else {
            return RecordSearch.Page(
                found: found, next: ceiling == nil ? nil : found.last?.position, scanned: scanned)
        }
        if let ceiling, !order.isBefore(bound, ceiling) {
            return RecordSearch.Page(
                found: found, next: found.last?.position, scanned: scanned)
        }
        return RecordSearch.Page(
            found: found.filter { !order.isBefore(bound, $0.position) }, next: bound,
            scanned: scanned)
    }

    private func place(of position: QueryPosition) -> Int {
        var (low, high) = (0, found.count)
        while low < high {
            let middle = (low + high) / 2
            if order.isBefore(found[middle].position, position) {
                low = middle + 1
            } else {
                high = middle
            }
        }
        return low
    }
}
