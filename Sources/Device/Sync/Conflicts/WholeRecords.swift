import StratusRecords

/// The version of the record that reached the service first wins as a whole.
///
/// If two devices edit the same record, the one that syncs later gets the service's version, and its discarded edits
/// are reported. This resolver needs no field. The order of syncs decides the result. With the other resolvers that is
/// so only if a record lacks the field with its times.
public struct ServerDateWins: ConflictResolver {
    /// Makes a resolver, which has no settings.
    public init() {}

    public func resolve(_ conflict: SyncConflict) -> ConflictResolution { .keepServer }
}

/// The version of the record with the later edit wins as a whole, regardless of which device syncs first.
///
/// Every edit sets its time in one field, always later than the one before it. A record without the
/// field counts as older than any with it; at equal times the same content wins on all devices.
///
/// The other edit's changes are lost, in other fields too: to keep both, see ``FieldWise``. It
/// depends on the devices' clocks, which the service's answers correct.
public struct EditDateWins: ConflictResolver {
    /// The TIMESTAMP field with the time of the record's last edit.
    public let editDateKey: String

    /// - Parameter editDateKey: a TIMESTAMP field of records, which the cache sets.
    public init(editDateKey: String = "editedAt") {
        self.editDateKey = editDateKey
    }

    public var editStamps: EditStamps { EditStamps(dateKey: editDateKey) }

    public func resolve(_ conflict: SyncConflict) -> ConflictResolution {
        conflict.wholeRecord { record in
            switch record[editDateKey] {
            case .timestamp(let milliseconds, _): milliseconds
            default: nil
            }
        }
    }
}

/// The version of the record that was edited more often wins as a whole, independent of clocks and
/// the order of syncs.
///
/// The cache increments a number in one field with every edit. At equal numbers the same content
/// wins on all devices. The other edits' changes are lost.
public struct EditCountWins: ConflictResolver {
    /// The INT64 field with the number of the record's edits.
    public let editCountKey: String

    /// - Parameter editCountKey: an INT64 field of records, which the cache sets.
    public init(editCountKey: String = "editCount") {
        self.editCountKey = editCountKey
    }

    public var editStamps: EditStamps { EditStamps(countKey: editCountKey) }

    public func resolve(_ conflict: SyncConflict) -> ConflictResolution {
        conflict.wholeRecord { record in
            switch record[editCountKey] {
            case .int64(let count): count
            default: nil
            }
        }
    }
}

extension SyncConflict {
    /// The side with the greater number; at equal numbers, the one whose content comes later in an order that is the
    /// same on all devices.
    fileprivate func wholeRecord(
        by number: (RecordSnapshot) -> Int64?
    ) -> ConflictResolution {
        let (mine, theirs) = (number(client) ?? .min, number(server) ?? .min)
        let isClientKept =
            mine != theirs ? mine > theirs : client.contentDigest > server.contentDigest
        guard isClientKept else { return .keepServer }
        var kept = server(with: client.fields)
        kept.parentRecordName = client.parentRecordName
        return .merge(kept)
    }
}

extension RecordSnapshot {
    /// A hash of all fields and the parent.
    fileprivate var contentDigest: UInt64 {
        var digest = FieldDigest()
        for field in fields.sorted(by: { $0.name < $1.name }) {
            digest.add(Int64(bitPattern: field.digest))
        }
        digest.add(Int64(bitPattern: parentMark))
        return digest.value
    }
}
