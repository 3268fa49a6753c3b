/// A part of a change that is carried out in steps after its request (decision 18).
public struct LongChangeRow: Hashable, Sendable {
    /// What is left to do. The raw values are stored.
    public enum Kind: Int, Hashable, Sendable, CaseIterable {
        /// The children of the record with this name are still to be moved into its share, or out of one.
        case placement = 1
        /// The record with this name is deleted together with another one.
        case deletion = 2
        /// The zone with this key is deleted; its rows still exist.
        case zoneRemoval = 3
        /// Records that are stored as being under the root with this name, which stays shared, may have moved away from
        /// it. Until the zone's placements are done, participants see only records that are verified to be under it.
        case departure = 4
        /// The deletions with this name as their detail are not decided yet: a request is still searching for the
        /// records that it deletes.
        case claim = 5
    }

    /// What is left to do; with the zone and the name it identifies the row.
    public var kind: Kind
    /// The zone in which it is left to do.
    public var zone: ZoneRow.Key
    /// A record's name; empty for a zone; for a claim its whole text.
    public var name: String
    /// For a placement, the name of the last child that was moved; for a deletion, the name of the claim to which it
    /// belongs.
    public var detail: String

    /// Makes the row of work that is left.
    public init(zone: ZoneRow.Key, kind: Kind, name: String, detail: String = "") {
        self.zone = zone
        self.kind = kind
        self.name = name
        self.detail = detail
    }
}
