import StratusRecords

/// A share, found by zone or link; its content is in the share's record.
public struct ShareRow: Hashable, Sendable {
    public var zone: ZoneRow.Key
    /// The share record's name.
    public var name: String
    /// The name of the root record of the hierarchy; nil when the whole zone is shared.
    public var root: String?
    public var shortGUID: String

    public init(zone: ZoneRow.Key, name: String, root: String?, shortGUID: String) {
        self.zone = zone
        self.name = name
        self.root = root
        self.shortGUID = shortGUID
    }
}

/// The access of a participant by a share; derived from the share's record.
public struct ShareAccessRow: Hashable, Sendable {
    /// The share record's name.
    public var share: String
    /// A user record name.
    public var user: String
    /// The share's root; nil when the whole zone is shared.
    public var root: String?
    public var canWrite: Bool
    /// A new number each time the user gains access, so that earlier change tokens expire.
    public var since: Int64

    public init(share: String, user: String, root: String?, canWrite: Bool, since: Int64) {
        self.share = share
        self.user = user
        self.root = root
        self.canWrite = canWrite
        self.since = since
    }
}

/// A record that left the view of a share: it was deleted or moved out of the hierarchy.
public struct ShareEventRow: Hashable, Sendable {
    public var zone: ZoneRow.Key
    /// The root of the share whose view the record left.
    public var root: String
    public var name: String
    public var type: String
    public var version: Int64
    public var commitVersion: Int64

    public init(
        zone: ZoneRow.Key, root: String, name: String, type: String, version: Int64,
        commitVersion: Int64
    ) {
        self.zone = zone
        self.root = root
        self.name = name
        self.type = type
        self.version = version
        self.commitVersion = commitVersion
    }
}

/// Another owner's zone in the shared database of the database's owner.
public struct SharedZoneRow: Hashable, Sendable {
    /// The owner's user record name.
    public var owner: String
    public var name: String
    /// The newest version in the view when it was last read.
    public var seenVersion: Int64
    /// The mark of the access when it was last read.
    public var seenAccess: Int64
    /// The database's version when the zone was last seen to have changed.
    public var changedAtDatabaseVersion: Int64
    /// Whether the zone is gone from the view.
    public var isDeleted: Bool

    public init(
        owner: String, name: String, seenVersion: Int64, seenAccess: Int64,
        changedAtDatabaseVersion: Int64 = 0, isDeleted: Bool
    ) {
        self.owner = owner
        self.name = name
        self.seenVersion = seenVersion
        self.seenAccess = seenAccess
        self.changedAtDatabaseVersion = changedAtDatabaseVersion
        self.isDeleted = isDeleted
    }
}

/// The database in which the share of a link is found.
public struct ShortGUIDRow: Hashable, Sendable {
    public var shortGUID: String
    public var address: ContainerAddress
    /// The owner's user record name.
    public var owner: String

    public init(shortGUID: String, address: ContainerAddress, owner: String) {
        self.shortGUID = shortGUID
        self.address = address
        self.owner = owner
    }
}
