/// The targets of a record's reference, some of which were not here yet.
struct Unlinked: Codable, Hashable {
    /// The names of all targets, in order.
    var names: [String]
    var missing: [String]

    /// Adds arrived targets to an object's list: in the record's order, or at the end if the app
    /// has changed the order.
    func joined(_ had: [String], by present: Set<String>) -> [String] {
        let held = Set(had)
        let joined = names.filter { held.contains($0) || present.contains($0) }
        if joined.filter(held.contains) == had { return joined }
        return had + names.filter { present.contains($0) && !held.contains($0) }
    }
}
