import StratusRecords

/// A local change that the service has not confirmed yet. A record has at most one.
public struct PendingChange: Hashable, Sendable {
    /// The record that was changed.
    public var id: RecordID
    /// What the service is to do with the record.
    public var kind: Kind

    /// Counts the edits of this record since it was last synced. An answer to an older generation
    /// does not confirm a newer one.
    public var generation: Int64

    /// How many times the resolver was called for it.
    public var conflictRounds: Int

    /// How many times it failed for an unexplained reason.
    public var attempts: Int

    /// What the service is to do with a record. The raw values are stored in the cache's file.
    public enum Kind: Int, Hashable, Sendable {
        /// Create or update the record.
        case save = 0
        /// Delete the record; it counts as done if the service does not have it.
        case delete = 1
    }

    /// Makes a change, by default one that was never sent.
    public init(
        id: RecordID, kind: Kind, generation: Int64 = 1, conflictRounds: Int = 0, attempts: Int = 0
    ) {
        self.id = id
        self.kind = kind
        self.generation = generation
        self.conflictRounds = conflictRounds
        self.attempts = attempts
    }

    /// The change that replaces this one when the record is changed again: the last edit wins, a
    /// save is dropped when a deletion follows, and earlier failures are reset.
    public func followed(by kind: Kind) -> PendingChange {
        PendingChange(id: id, kind: kind, generation: generation + 1)
    }

    /// Merges a list of changes into one per record, in the order of first mention.
    public static func deduplicated(_ changes: [PendingChange]) -> [PendingChange] {
        var places: [RecordID: Int] = [:]
        var result: [PendingChange] = []
        for change in changes {
            if let place = places[change.id] {
                result[place] = result[place].followed(by: change.kind)
            } else {
                places[change.id] = result.count
                result.append(change)
            }
        }
        return result
    }
}

/// The marks of values that the service may have although it has not answered the save.
extension RecordSnapshot {
    /// A hash of a field's state, even if it is absent.
    package func mark(ofField name: String) -> UInt64 {
        (field(name) ?? Field(name: name, value: nil)).digest
    }

    /// A hash of the parent.
    package var parentMark: UInt64 {
        Field(name: "\u{1}parent", value: parentRecordName.map { .string($0) }).digest
    }

    /// The marks of the fields and the parent that differ in another record.
    package func marks(ofFieldsThatDifferFrom other: RecordSnapshot) -> [UInt64] {
        let names = Set((fields + other.fields).map(\.name)).sorted()
        var marks = names.filter { field($0) != other.field($0) }.map { mark(ofField: $0) }
        if parentRecordName != other.parentRecordName { marks.append(parentMark) }
        return marks
    }
}
