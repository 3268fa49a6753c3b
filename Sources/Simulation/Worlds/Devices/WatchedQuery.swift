import Foundation
import StratusCache
import StratusClient
import StratusRecords

/// A query of a user's app, and what its observer knows from the updates that it got.
struct WatchedQuery {
    /// The query for the cache, and its meaning for the oracle.
    struct Question: Sendable {
        var format: String
        var sortKey: String
        var isAscending: Bool
        var limit: Int?
        /// Whether a record with these fields is found.
        var matches: @Sendable ((String) -> Int64?) -> Bool
    }

    /// Their sort keys distinguish any two records.
    static let questions = [
        Question(format: "f0 > 0", sortKey: "f0", isAscending: false, limit: 3) {
            $0("f0") ?? 0 > 0
        },
        Question(format: "f1 < 40 OR f2 > 20", sortKey: "life", isAscending: true) {
            $0("f1") ?? .max < 40 || $0("f2") ?? 0 > 20
        },
    ]

    /// The types of devices that declare them, with the indexed fields.
    static let types = [CachedType("Item", indexed: ["f0", "life"])]

    let question: Question
    let scope: CKDatabase.Scope
    private let query: CacheQuery
    private let mutation: Mutation?
    private var updates: CacheObservation.Iterator
    private var isFirst = true
    /// The records that the changes name, and the last answer.
    private var merged: Set<RecordID> = []
    private var answer: [RecordSnapshot] = []

    init(
        _ question: Question, of cache: CloudCache, in scope: CKDatabase.Scope,
        mutation: Mutation?
    ) throws {
        self.question = question
        self.scope = scope
        self.mutation = mutation
        var query = CacheQuery("Item").where(NSPredicate(format: question.format))
            .sorted(by: question.sortKey, ascending: question.isAscending)
        query.limit = question.limit
        self.query = query
        updates = try cache.observe(query, in: scope).makeAsyncIterator()
    }

    /// What is wrong with the query's answer and with its observer's.
    ///
    /// - Parameter contents: all records of the database.
    mutating func violations(
        _ cache: CloudCache, _ contents: [RecordID: RecordSnapshot]
    ) throws -> [String] {
        let expected = found(in: Array(contents.values))
        let names = expected.map(\.id)
        var violations: [String] = []
        let asked = try cache.records(matching: query, in: scope).map { RecordID($0.recordID) }
        if asked != names {
            violations.append(wrong("finds", asked, names))
        }
        let count = try cache.count(matching: query, in: scope)
        if count != names.count { violations.append(wrong("counts \(count) and", [], names)) }
        if let update = try updates.takeUpdate(), mutation != .missesUpdates || isFirst {
            try violations += merge(update)
        }
        isFirst = false
        if merged != Set(names) {
            violations.append(wrong("has merged", Array(merged), names))
        }
        if !answer.elementsEqual(
            expected, by: { $0.id == $1.id && $0.seen.hasSameContent(as: $1.seen) })
        {
            violations.append(wrong("was handed", answer.map(\.id), names))
        }
        return violations
    }

    /// Whether there is an update.
    mutating func hasUpdate() throws -> Bool { try updates.takeUpdate() != nil }

    /// Takes an update, and checks that its changes are the difference of both answers.
    private mutating func merge(_ update: QueryUpdate) throws -> [String] {
        let next = try update.records.map { try RecordSnapshot($0) }
        let former = Dictionary(uniqueKeysWithValues: answer.map { ($0.id, $0) })
        var violations: [String] = []
        if isFirst { merged = Set(next.map(\.id)) }
        for change in update.changes {
            let id = RecordID(change.recordID)
            let wasThere = merged.contains(id)
            if wasThere == (change.kind == .inserted) {
                violations.append(wrong("was notified of \(change.kind)", [id], Array(merged)))
            }
            if change.kind == .removed { merged.remove(id) } else { merged.insert(id) }
        }
        let named = Set(update.changes.map { RecordID($0.recordID) })
        for record in next where !isFirst && !named.contains(record.id) {
            if former[record.id]?.seen.hasSameContent(as: record.seen) != true {
                violations.append(wrong("was not notified of", [record.id], next.map(\.id)))
            }
        }
        answer = next
        return violations
    }

    /// The answer, by looking at every record.
    private func found(in records: [RecordSnapshot]) -> [RecordSnapshot] {
        func number(_ record: RecordSnapshot, _ name: String) -> Int64? {
            if case .int64(let number) = record[name] { number } else { nil }
        }
        let matches = records.filter { record in
            record.type == "Item" && question.matches { number(record, $0) }
        }
        let sorted = matches.sorted { one, other in
            let (first, second) = (
                number(one, question.sortKey) ?? .min, number(other, question.sortKey) ?? .min
            )
            return question.isAscending ? first < second : first > second
        }
        return Array(sorted.prefix(question.limit ?? .max))
    }

    private func wrong(_ does: String, _ ids: [RecordID], _ expected: [RecordID]) -> String {
        "the query \(question.format) \(does) \(ids.map(\.name)), and all records say"
            + " \(expected.map(\.name))"
    }
}
