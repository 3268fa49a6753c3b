/// A part of a change that is carried out in steps after the request that made it (decision 18).
public struct LongChangeRow: Hashable, Sendable {
    /// What is to be done. The raw values are stored.
    public enum Kind: Int, Hashable, Sendable, CaseIterable {
        /// The children of the record of this name are still to come under its share, or out of one.
        case placement = 1
        /// The record of this name goes with one that was deleted.
        case deletion = 2
        /// The zone of this key is deleted; its rows are still there.
        case zoneRemoval = 3
        /// Records that are said to lie under the root of this name, which goes on being shared, may have left
        /// it: who sees by its share sees what can be shown to lie there. Ends with the zone's placements.
        case departure = 4
        /// It is not decided yet whether the records go whose deletions have this name as their detail: a request
        /// that is still under way looks for what they take along.
        case claim = 5
    }

    public var zone: ZoneRow.Key
    public var kind: Kind
    /// A record's name; empty for a zone.
    public var name: String
    /// Of a placement the name of the last child that was done; of a deletion on whose behalf.
    public var detail: String

    public init(zone: ZoneRow.Key, kind: Kind, name: String, detail: String = "") {
        self.zone = zone
        self.kind = kind
        self.name = name
        self.detail = detail
    }
}
