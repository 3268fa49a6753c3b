import StratusRecords

/// The record that reached the service first stands, as a whole.
///
/// Of two devices that edited the same record, the later to sync takes the service's version; what it
/// loses is reported. Needs no field of its own, and is the only resolver for which the order of syncs
/// decides.
public struct ServerDateWins: ConflictResolver {
    public init() {}

    public func resolve(_ conflict: SyncConflict) -> ConflictResolution { .keepServer }
}

/// The record with the later edit wins as a whole, whoever syncs first.
///
/// Every edit leaves its time in one field, always later than the one before it. A record without the
/// field counts as older than any that has it; at equal times one content wins on all devices.
///
/// What the other edit changed is gone from the record, in other fields too: for all of both, see
/// ``FieldWise``. Depends on the devices' clocks, as far as the service's answers do not correct them.
public struct EditDateWins: ConflictResolver {
    public let editDateKey: String

    /// - Parameter editDateKey: a field of records, a TIMESTAMP, which the cache fills.
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

/// The record that was edited more often wins as a whole, whoever syncs first and whatever the clocks say.
///
/// The cache raises a number in one field with every edit. At equal numbers one content wins on all
/// devices. What the other edits changed is gone from the record.
public struct EditCountWins: ConflictResolver {
    public let editCountKey: String

    /// - Parameter editCountKey: a field of records, an INT64, which the cache fills.
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
    /// The side with the greater number; at equal numbers, the one whose content comes later in an order
    /// that is the same everywhere.
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
    /// Stands for all fields and the parent.
    fileprivate var contentDigest: UInt64 {
        var digest = FieldDigest()
        for field in fields.sorted(by: { $0.name < $1.name }) {
            digest.add(Int64(bitPattern: field.digest))
        }
        digest.add(Int64(bitPattern: parentMark))
        return digest.value
    }
}
