import Foundation

/// The results of worlds so far; a file with it lets a run continue.
struct Progress: Codable {
    var worlds = 0
    /// The steps of the worlds' plans.
    var steps = 0
    var requests = 0
    var seconds = 0.0
    var failed: [UInt64: [String]] = [:]
    /// How often each fault occurred with each operation.
    var table: [String: [String: Int]] = [:]

    mutating func add(_ other: Progress) {
        worlds += other.worlds
        steps += other.steps
        requests += other.requests
        failed.merge(other.failed) { $1 }
        for (fault, operations) in other.table {
            table[fault, default: [:]].merge(operations, uniquingKeysWith: +)
        }
    }
}
