/// A reference with an action, stored in a row of its own so that it is found by its target.
///
/// References without an action are not kept here. A target need not exist.
public struct ReferenceRow: Hashable, Sendable {
    /// What happens to the holder when the target is deleted. The raw values are stored.
    public enum Action: Int, Hashable, Sendable, CaseIterable {
        /// The holder is deleted too.
        case deleteSelf = 1
        /// The target cannot be deleted as long as the holder exists.
        case validate = 2
    }

    /// The zone of both: references stay within their zone.
    public var zone: ZoneRow.Key
    /// The name of the record that is referred to.
    public var target: String
    /// What happens to the holder when the target is deleted.
    public var action: Action
    /// The name of the record that has the reference, once or several times.
    public var holder: String

    /// Makes the row of a reference from one record to another.
    public init(zone: ZoneRow.Key, target: String, action: Action, holder: String) {
        self.zone = zone
        self.target = target
        self.action = action
        self.holder = holder
    }
}

/// Reads references.
public protocol ReferenceReader {
    /// The names of the records that refer to a target with an action, in byte order.
    func holders(
        of target: String, _ action: ReferenceRow.Action, in zone: ZoneRow.Key, limit: Int
    ) throws -> [String]
}

/// Changes references.
public protocol ReferenceWriter: ReferenceReader {
    /// Adds a reference; one that is there already stays.
    func put(_ row: ReferenceRow) throws

    /// Removes a reference, if it is there.
    func delete(_ row: ReferenceRow) throws

    /// Removes all references of a record. Looks through those of the whole zone.
    func deleteReferences(heldBy holder: String, in zone: ZoneRow.Key) throws
}
