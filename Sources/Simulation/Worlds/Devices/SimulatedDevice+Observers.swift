import StratusCache
import StratusClient
import StratusRecords
import StratusSync

/// What observers of a device's cache and of its queries are notified of, and what they should be notified of.
extension SimulatedDevice {
    func watch(_ cache: CloudCache) throws {
        observedWriteCount = nil
        shadows = []
        for scope in [CKDatabase.Scope.private, .shared] {
            shadows.append(
                Shadow(
                    scope: scope, changes: cache.changes(in: scope),
                    contents: try Self.contents(of: cache, scope)))
        }
        queries = try [CKDatabase.Scope.private, .shared].flatMap { scope in
            try WatchedQuery.questions.map {
                try WatchedQuery($0, of: cache, in: scope, mutation: mutation)
            }
        }
    }

    static func contents(
        of cache: CloudCache, _ scope: CKDatabase.Scope
    ) throws -> [RecordID: RecordSnapshot] {
        var contents: [RecordID: RecordSnapshot] = [:]
        for zone in try cache.zoneIDs(in: scope) {
            for record in try cache.snapshots(ofType: nil, in: ZoneID(zone), of: scope) {
                contents[record.id] = record
            }
        }
        return contents
    }

    /// What is wrong with observers and queries.
    func wrongObservations() throws -> [String] {
        guard let cache = openCache else { return [] }
        // Checked already, and nothing was written since; unless a mutation writes without the cache's knowledge.
        let writeCount = files[user]?.writeCount
        if mutation == nil, let writeCount, writeCount == observedWriteCount { return [] }
        observedWriteCount = writeCount
        var all: [CKDatabase.Scope: [RecordID: RecordSnapshot]] = [:]
        for shadow in shadows { all[shadow.scope] = try Self.contents(of: cache, shadow.scope) }
        return try unobservedChanges(all) + wrongAnswers(all)
    }

    /// Changes of which observers were not notified, or were notified wrongly.
    private func unobservedChanges(
        _ all: [CKDatabase.Scope: [RecordID: RecordSnapshot]]
    ) throws -> [String] {
        guard let cache = openCache else { return [] }
        var unobserved: [String] = []
        for place in shadows.indices {
            let scope = shadows[place].scope
            for id in shadows[place].changes.takeUnseen() where mutation != .missesChanges {
                shadows[place].contents[RecordID(id)] = try cache.snapshot(RecordID(id), in: scope)
            }
            let contents = all[scope] ?? [:]
            let ids = Set(contents.keys).union(shadows[place].contents.keys)
            let wrong = ids.filter {
                !Self.isSame(contents[$0], shadows[place].contents[$0])
            }
            unobserved += wrong.map { id in
                "\(name): observers have \(shadows[place].contents[id].map { "\($0.fields)" } ?? "nothing")"
                    + " of \(id.name), and the cache "
                    + (contents[id].map { "\($0.fields)" } ?? "nothing")
            }.sorted()
        }
        return unobserved
    }

    /// What is wrong with queries, and with the updates that their observers got.
    private func wrongAnswers(
        _ all: [CKDatabase.Scope: [RecordID: RecordSnapshot]]
    ) throws -> [String] {
        guard let cache = openCache else { return [] }
        if declaresTypes, let sql = mutation?.sqlBeforeQueries { try files[user]?.execute(sql) }
        var wrong: [String] = []
        for place in queries.indices {
            let contents = all[queries[place].scope] ?? [:]
            wrong += try queries[place].violations(cache, contents).map { "\(name): \($0)" }
        }
        return wrong
    }

    private static func isSame(_ one: RecordSnapshot?, _ other: RecordSnapshot?) -> Bool {
        guard let one, let other else { return one == nil && other == nil }
        return one.seen.hasSameContent(as: other.seen)
    }

    /// Whether a share differs only by the key of its link, which the device did not have before: its keyring could not
    /// be fetched then, and the link is another one now.
    private static func hasGainedLinkKey(
        _ former: RecordSnapshot.SystemFields?, _ now: RecordSnapshot.SystemFields?
    ) -> Bool {
        guard let now, var gained = former, gained != now else { return false }
        gained.keepLinkKey(of: now)
        return gained == now
    }

    /// Notifications that observers got although nothing has changed since they were last checked.
    func needlessNotifications() throws -> [String] {
        var needless: [String] = []
        for place in shadows.indices {
            let ids = try shadows[place].changes.takeUnseen().filter { id in
                let id = RecordID(id)
                let now = try openCache?.snapshot(id, in: shadows[place].scope)
                return !Self.hasGainedLinkKey(shadows[place].contents[id]?.system, now?.system)
            }
            needless += ids.map {
                "\(name): an observer was notified of \($0.recordName), which had not changed"
            }
        }
        for place in queries.indices where try queries[place].hasUpdate() {
            needless.append("\(name): a query's observer was handed what had not changed")
        }
        return needless.sorted()
    }
}

extension RecordSnapshot {
    /// The record as an app sees it: that a photo got the service's checksum at its upload is not a change.
    var seen: RecordSnapshot {
        guard case .asset = self[Plan.photo] else { return self }
        var seen = self
        seen[Plan.photo] = .int64(1)
        seen.carryFieldTimes(in: FieldWise.defaultFieldTimesKey, from: self)
        return seen
    }
}
