import StratusClient

/// What a sync would do, by type; its description is a table.
public struct SyncPlan: Sendable, CustomStringConvertible {
    /// What a sync would do for the objects of one type.
    public struct Entry: Sendable {
        /// The record type of the objects.
        public var recordType: CKRecord.RecordType
        /// Sync IDs of objects to create here, for records without one.
        public var creations: [String]
        /// Sync IDs of objects here to fill from their records.
        public var updates: [String]
        /// Sync IDs of objects to remove here, because their records were deleted.
        public var removals: [String]
        /// Sync IDs of objects to send; empty for one that has none yet.
        public var uploads: [String]
        /// Sync IDs of objects that were deleted here, whose records are to be deleted too.
        public var deletions: [String]
    }

    /// One entry for each type, in the order in which the types were requested or set up.
    public var entries: [Entry]

    public var description: String {
        entries.map { entry in
            "\(entry.recordType): here create \(entry.creations.count), update"
                + " \(entry.updates.count), remove \(entry.removals.count);"
                + " there save \(entry.uploads.count), delete \(entry.deletions.count)"
        }.joined(separator: "\n")
    }
}

extension CloudMapping {
    /// Returns what ``syncEntities(specific:forced:)`` would do, without changing any object or record.
    ///
    /// ```swift
    /// print(try await mapping.plan(forced: true))  // "Person: here create 0, update 1, remove 0; …"
    /// ```
    public func plan(
        specific: [any CloudEntity.Type]? = nil, forced: Bool = false
    ) async throws -> SyncPlan {
        for type in specific ?? types { try requireSetUp(type) }
        // Creating the zone changes no record, and the comparison needs it.
        if source.tellsDeletions { try await prepare() }
        let round = try await round(of: specific ?? types, isForced: forced, isDry: true)
        var plan = SyncPlan(entries: [])
        for type in specific ?? types {
            let found = try await compare(type, in: round)
            plan.entries.append(
                SyncPlan.Entry(
                    recordType: type.recordTypeName,
                    creations: found.new.map(\.recordID.recordName).sorted(),
                    updates: found.updated.map(\.recordID.recordName).sorted(),
                    removals: found.deletedNames,
                    uploads: found.uploads.map { $0.cloudID ?? "" }.sorted(),
                    deletions: found.deletions))
        }
        return plan
    }
}
