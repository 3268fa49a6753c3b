import StratusMatching
import StratusStorage

extension RecordSearch {
    /// The compound indexes that could each serve the query.
    static func compounds(_ matcher: RecordMatcher, _ order: RecordOrder) -> [CompoundIndex] {
        guard let key = order.keys.first else { return [] }
        return matcher.conditions.compactMap { CompoundIndex($0, key, of: matcher.recordType) }
    }

    /// The compound index that would make a page cheaper; nil when none would.
    ///
    /// - Parameter path: The access path with the fewest entries.
    func compound(worthMakingAfter page: Page, path: Int) -> CompoundIndex? {
        // Records that other filters leave out would have to be read in any case: only full pages show whether the
        // index helps.
        guard page.found.count == limit, page.scanned >= limits.recordsReadPerCompoundIndex,
            page.scanned > 4 * (limit + 1)
        else { return nil }
        let filtered =
            accessPaths.indices.contains(path)
            ? accessPaths[path].segments.first?.definition : nil
        return compounds.first { $0.filtered == filtered } ?? compounds.first
    }
}
