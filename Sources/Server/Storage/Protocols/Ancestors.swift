/// A state of a record that a later change replaced.
///
/// It does not include what never changes while a record lives: its name, type, creator and creation.
public struct AncestorRow: Hashable, Sendable {
    /// The zone that the record is in.
    public var zone: ZoneRow.Key
    /// The zone's version at the change that replaced this state; no change replaces two.
    public var replacedAt: Int64
    /// The change tag that the record had in this state.
    public var changeTag: String
    /// Milliseconds since 1970.
    public var modifiedMilliseconds: Int64
    /// The record name of the user who made this state.
    public var modifier: String
    /// The device that made this state.
    public var modifierDevice: String
    /// The name of the parent record in this state; nil when it had none.
    public var parent: String?
    /// The fields of this state, in the form of ``RecordRow/payload``.
    public var payload: [UInt8]
}

extension AncestorRow {
    /// The state of `row`, which the change of this version replaced.
    public init(_ row: RecordRow, replacedAt version: Int64) {
        self.init(
            zone: row.zone, replacedAt: version, changeTag: row.changeTag,
            modifiedMilliseconds: row.modifiedMilliseconds, modifier: row.modifier,
            modifierDevice: row.modifierDevice, parent: row.parent, payload: row.payload)
    }
}

/// Reads replaced states of records.
public protocol AncestorReader {
    /// The state that the change with this version replaced, if it is still kept.
    func ancestor(replacedAt version: Int64, in zone: ZoneRow.Key) throws -> AncestorRow?

    /// The size of the fields of the states that are kept and were replaced between two versions.
    func ancestorBytes(
        replacedAfter first: Int64, before last: Int64, in zone: ZoneRow.Key
    ) throws -> Int
}

/// Changes the replaced states of records.
public protocol AncestorWriter: AncestorReader {
    /// Stores a replaced state, in place of one that the same change replaced.
    func put(_ row: AncestorRow) throws

    /// Removes the state that one change replaced, if it is there.
    func deleteAncestor(replacedAt version: Int64, in zone: ZoneRow.Key) throws

    /// Removes the states that were replaced up to and including a version.
    func deleteAncestors(replacedThrough version: Int64, in zone: ZoneRow.Key) throws

    /// Removes the oldest states of a zone, so that the fields of the others have at most this many bytes.
    func deleteAncestors(beyondBytes limit: Int, in zone: ZoneRow.Key) throws
}
