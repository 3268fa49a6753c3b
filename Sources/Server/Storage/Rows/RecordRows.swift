// The rows of one database.

import StratusRecords

/// A zone as it is stored.
public struct ZoneRow: Hashable, Sendable {
    /// Identifies the zone in the rows of its records.
    public struct Key: Hashable, Sendable, RawRepresentable {
        public var rawValue: Int64
        public init(rawValue: Int64) { self.rawValue = rawValue }
    }

    /// Why a zone was deleted. The raw values are stored.
    public enum Deletion: Int, Hashable, Sendable {
        /// For no particular reason: requests fail as for a zone that never existed.
        case deleted = 1
        /// The user removed the app's data in the settings.
        case purged = 2
        /// The user's encrypted data could not be read any more and was reset.
        case encryptedDataReset = 3
    }

    /// Identifies the zone in its database; stays the same when a deleted zone is created again.
    public var key: Key
    /// The zone's name, unique in its database.
    public var name: String
    /// Why the zone was deleted; nil while it exists.
    public var deletion: Deletion?
    /// Increases when a deleted zone is created again; part of every change token of the zone.
    public var generation: Int64
    /// The version of the newest change; continues across generations, so that no change tag is used twice.
    public var version: Int64
    /// The version up to which tombstones were purged: earlier change tokens have expired.
    public var purgeHorizon: Int64
    /// Whether changes can be fetched since a token.
    public var hasFeed: Bool
    /// The database's version at the zone's newest change.
    public var changedAtDatabaseVersion: Int64
    /// Set when the zone is created; never changed while it exists.
    public var encryptionScope: ZoneEncryptionScope

    /// Makes a zone's row; by default of a zone in which single hierarchies can be shared.
    public init(
        key: Key, name: String, generation: Int64, version: Int64, purgeHorizon: Int64,
        hasFeed: Bool, changedAtDatabaseVersion: Int64, deletion: Deletion?,
        encryptionScope: ZoneEncryptionScope = .perRecord
    ) {
        self.key = key
        self.name = name
        self.generation = generation
        self.version = version
        self.purgeHorizon = purgeHorizon
        self.hasFeed = hasFeed
        self.changedAtDatabaseVersion = changedAtDatabaseVersion
        self.deletion = deletion
        self.encryptionScope = encryptionScope
    }
}

/// A record or its tombstone as it is stored.
public struct RecordRow: Hashable, Sendable {
    /// The zone that the record is in.
    public var zone: ZoneRow.Key
    /// The record's name, unique in its zone.
    public var name: String
    /// The record's type, kept by a tombstone.
    public var type: String
    /// The zone's version at this record's newest change.
    public var version: Int64
    /// The last version of the request that made the change; no page ends inside a request.
    public var commitVersion: Int64
    /// The change tag. It may be older than the version: a change of who can see the record takes a version, but must
    /// not cause conflicts.
    public var changeTag: String
    /// Whether the row is a tombstone.
    public var isDeleted: Bool
    /// The device that created the record; deletions are shown to it even without a change token.
    public var creatorDevice: String
    /// Milliseconds since 1970.
    public var createdMilliseconds: Int64
    /// Milliseconds since 1970.
    public var modifiedMilliseconds: Int64
    /// The user record name of the creator.
    public var creator: String
    /// The user record name of the last modifier.
    public var modifier: String
    /// The device that made the newest change.
    public var modifierDevice: String
    /// The name of the parent record in the sharing hierarchy.
    public var parent: String?
    /// The name of the root record whose share covers this record.
    public var shareRoot: String?
    /// The fields as normalised wire bytes; empty on tombstones. The store does not look inside.
    public var payload: [UInt8]
    /// The content of a share, or the share of a shared root; empty for all other records. The store does
    /// not look inside.
    public var sharing: [UInt8]

    /// Makes a record's row; by default one without sharing data.
    public init(
        zone: ZoneRow.Key, name: String, type: String, version: Int64, commitVersion: Int64,
        changeTag: String, isDeleted: Bool, creatorDevice: String, createdMilliseconds: Int64,
        modifiedMilliseconds: Int64, creator: String, modifier: String, modifierDevice: String,
        parent: String?, shareRoot: String?, payload: [UInt8], sharing: [UInt8] = []
    ) {
        self.zone = zone
        self.name = name
        self.type = type
        self.version = version
        self.commitVersion = commitVersion
        self.changeTag = changeTag
        self.isDeleted = isDeleted
        self.creatorDevice = creatorDevice
        self.createdMilliseconds = createdMilliseconds
        self.modifiedMilliseconds = modifiedMilliseconds
        self.creator = creator
        self.modifier = modifier
        self.modifierDevice = modifierDevice
        self.parent = parent
        self.shareRoot = shareRoot
        self.payload = payload
        self.sharing = sharing
    }
}

/// The position of a reader in a zone's changes.
public struct ChangeCursor: Hashable, Sendable {
    /// The version up to which everything was seen; 0 is the beginning.
    public var version: Int64
    /// Tombstones up to this version are left out, because the reader began without a token at it; 0 leaves none out.
    public var skipTombstonesThrough: Int64
    /// The reader's device, which still gets deletions of its own records; nil for none.
    public var device: String?
    /// Whether the reader wants whole batches: no page ends inside a request.
    public var wantsWholeBatches: Bool

    /// Makes a position; by default pages contain whole batches.
    public init(
        version: Int64, skipTombstonesThrough: Int64, device: String?,
        wantsWholeBatches: Bool = true
    ) {
        self.version = version
        self.skipTombstonesThrough = skipTombstonesThrough
        self.device = device
        self.wantsWholeBatches = wantsWholeBatches
    }
}

/// A page of a zone's changes.
public struct ChangePage: Hashable, Sendable {
    /// The changed records, tombstones included, the oldest change first. Each is there once, in its current state.
    public var rows: [RecordRow]
    /// The position after this page: the last row's version, or on the last page the zone's own version,
    /// read in the same snapshot.
    public var version: Int64
    /// Whether the zone has changes after this page.
    public var moreComing: Bool
    /// Changes that were read for the page and are not in its view.
    public var passedChanges: Int

    /// Makes a page.
    public init(rows: [RecordRow], version: Int64, moreComing: Bool, passedChanges: Int = 0) {
        self.rows = rows
        self.version = version
        self.moreComing = moreComing
        self.passedChanges = passedChanges
    }
}

/// A subscription as it is stored.
public struct SubscriptionRow: Hashable, Sendable {
    /// The record name of the user whose subscription it is.
    public var user: String
    /// The subscription's identifier, unique among those of its user.
    public var identifier: String
    /// The subscription as wire bytes. The store does not look inside.
    public var body: [UInt8]

    /// Makes a subscription's row.
    public init(user: String, identifier: String, body: [UInt8]) {
        self.user = user
        self.identifier = identifier
        self.body = body
    }
}

/// The name of one request of one device, under which its outcome is kept for repeated requests.
public struct OperationKey: Hashable, Sendable {
    /// The record name of the user who sent the request.
    public var user: String
    /// The device that sent it; empty for a signed request that is identified by its signature.
    public var device: String
    /// The identifier that the client gave the request, after a prefix that distinguishes endpoints.
    public var operation: String

    /// Names a request.
    public init(user: String, device: String, operation: String) {
        self.user = user
        self.device = device
        self.operation = operation
    }
}

/// An outbox event that waits to be dispatched.
public struct OutboxRow: Hashable, Sendable {
    /// Assigned by the store in the order in which events are added.
    public var identifier: Int64
    /// The event as bytes that the store does not look inside; empty when they were found damaged.
    public var body: [UInt8]
    /// The epoch in which it was added. It distinguishes events after a loss of history, when identifiers are used
    /// again.
    public var epoch: Epoch

    /// Makes an event's row.
    public init(identifier: Int64, body: [UInt8], epoch: Epoch) {
        self.identifier = identifier
        self.body = body
        self.epoch = epoch
    }
}

/// An epoch in which a database or a zone was written, as it is stored.
///
/// It ends where the next one of the same database or zone begins; the last one is still open.
public struct EpochRow: Hashable, Sendable {
    /// The epoch that the row is about.
    public var epoch: Epoch
    /// The version of the database or of the zone before its first change in the epoch.
    public var startVersion: Int64
    /// When that change was made, in milliseconds since 1970; 0 if it is older than epochs.
    public var startedMilliseconds: Int64

    /// Makes an epoch's row.
    public init(epoch: Epoch, startVersion: Int64, startedMilliseconds: Int64) {
        self.epoch = epoch
        self.startVersion = startVersion
        self.startedMilliseconds = startedMilliseconds
    }
}

/// A share, found by zone or link; its content is in the share's record.
public struct ShareRow: Hashable, Sendable {
    /// The zone that is shared, or that has the shared hierarchy.
    public var zone: ZoneRow.Key
    /// The share record's name.
    public var name: String
    /// The name of the root record of the hierarchy; nil when the whole zone is shared.
    public var root: String?
    /// The end of the share's link, unique in the database.
    public var shortGUID: String

    /// Makes a share's row; `root` is nil when the whole zone is shared.
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
    /// Whether the participant may change the shared records; if not, only read them.
    public var canWrite: Bool
    /// A new number each time the user gains access, so that earlier change tokens expire.
    public var since: Int64

    /// Makes the row of a participant's access.
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
    /// The zone of the share and the record.
    public var zone: ZoneRow.Key
    /// The root of the share whose view the record left.
    public var root: String
    /// The name of the record that left.
    public var name: String
    /// The type of the record that left.
    public var type: String
    /// The zone's version at the change by which the record left.
    public var version: Int64
    /// The last version of the request that made that change.
    public var commitVersion: Int64

    /// Makes the row of a record that left a view.
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
    /// The zone's name in the owner's database.
    public var name: String
    /// The newest version in the view when it was last read.
    public var seenVersion: Int64
    /// A number that identified the user's access when it was last read: which shares gave it, and since when.
    public var seenAccess: Int64
    /// The database's version when the zone was last seen to have changed.
    public var changedAtDatabaseVersion: Int64
    /// Whether the zone is gone from the view.
    public var isDeleted: Bool

    /// Makes the row of another owner's zone; ``SharedZoneWriter/put(_:)`` sets the database version.
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

/// One process's uninterrupted period of writing on a database.
///
/// A process that opens a database begins an epoch with its first write. So two copies of one file never continue in
/// the same epoch, and equal epochs mean equal histories.
public struct Epoch: Hashable, Sendable {
    /// Counts the epochs of the database: 1, 2, 3 …
    public var number: Int64
    /// Random, so that the epochs of two copies of one file differ.
    public var identifier: UInt64

    /// Makes an epoch; equal ones name the same period of writing.
    public init(number: Int64, identifier: UInt64) {
        self.number = number
        self.identifier = identifier
    }
}
