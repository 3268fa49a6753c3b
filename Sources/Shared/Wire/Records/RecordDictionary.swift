import StratusRecords

/// A record as the protocol writes it.
///
/// ```swift
/// let hut = RecordDictionary(
///     recordName: "hut-3", recordType: "Hut",
///     fields: .values([Field(name: "beds", value: .int64(24))]))
/// ```
public struct RecordDictionary: Hashable, Sendable {
    /// Nil in a request asks the service for a name.
    public var recordName: String?
    /// Nil if the service knows the type already.
    public var recordType: String?
    /// Names the record's state. `update`, `replace` and `delete` of an existing record need the current one.
    public var recordChangeTag: String?
    /// The record's fields: in a request those to set, in an answer those that were asked for.
    public var fields: RecordFields
    /// Nil for the zone that the request names.
    public var zoneID: ZoneIDDictionary?
    /// Only in answers.
    public var created: Stamp?
    /// Only in answers.
    public var modified: Stamp?
    /// The record's parent in a sharing hierarchy.
    public var parentRecordName: ParentChange
    /// The share of this root record; only in answers.
    public var shareRecordName: String?
    /// Whether the save gives the record a short GUID before it is shared; only in requests.
    public var createShortGUID: Bool
    /// The end of a share's link: on a share, its root, and a record saved with ``createShortGUID``. Only in answers.
    public var shortGUID: String?

    /// The members that only a share has.
    public var share: ShareDictionary? {
        get { shares.first }
        set { shares = newValue.map { [$0] } ?? [] }
    }

    /// An array, so that the many records that are not shares stay small.
    private var shares: [ShareDictionary] = []

    /// A request may leave the parent alone, set it, or clear it (`"parent": null`).
    public enum ParentChange: Hashable, Sendable {
        /// No key: the parent stays, or is removed by `replace` and `forceReplace`. In an answer, there is none.
        case absent
        /// A null: the parent is removed. Only in requests.
        case none
        /// The name of the parent, a record of the same zone.
        case some(String)
    }

    /// Who created or changed a record, when, and on which device.
    public struct Stamp: Hashable, Sendable {
        /// Milliseconds since 1970.
        public var timestampMilliseconds: Int64
        /// The user's record name; with `stratusExtensions=1` the caller's own is `__defaultOwner__`.
        public var userRecordName: String
        /// The `clientId` of the request, else an identifier of the session; `server` for a server-to-server key.
        public var deviceID: String

        /// Makes a stamp of who, when and on which device.
        public init(timestampMilliseconds: Int64, userRecordName: String, deviceID: String) {
            self.timestampMilliseconds = timestampMilliseconds
            self.userRecordName = userRecordName
            self.deviceID = deviceID
        }
    }

    /// Makes a record; everything that is left out is absent, as in a request.
    public init(
        recordName: String? = nil, recordType: String? = nil, recordChangeTag: String? = nil,
        fields: RecordFields = .values([]), zoneID: ZoneIDDictionary? = nil, created: Stamp? = nil,
        modified: Stamp? = nil, parentRecordName: ParentChange = .absent,
        shareRecordName: String? = nil, createShortGUID: Bool = false, shortGUID: String? = nil,
        share: ShareDictionary? = nil
    ) {
        self.recordName = recordName
        self.recordType = recordType
        self.recordChangeTag = recordChangeTag
        self.fields = fields
        self.zoneID = zoneID
        self.created = created
        self.modified = modified
        self.parentRecordName = parentRecordName
        self.shareRecordName = shareRecordName
        self.createShortGUID = createShortGUID
        self.shortGUID = shortGUID
        self.share = share
    }
}

/// The fields of a record: parsed values, or the bytes of the wire.
///
/// The service normalises fields once, when they are saved, and stores the bytes; a fetch copies them into the answer
/// without parsing. They are parsed only when the values are needed.
public enum RecordFields: Hashable, Sendable {
    /// The fields as values, each with a name and a type.
    case values([Field])
    /// The text of a JSON object in which every value has its `type`.
    case encoded([UInt8])
    /// The same in the form that a device keeps: sorted by name, without duplicates or encrypted values, and without
    /// references and assets, which differ on each device.
    case kept([UInt8])
}

/// The state of one record in an answer: it exists, was deleted, or failed.
///
/// ```swift
/// let answer = try readWire(RecordsLookup.Answer.self, from: body)
/// for result in answer.records {
///     switch result {
///     case .record(let record): print(record.recordName ?? "")
///     case .deleted(let tombstone): print(tombstone.recordName, "is deleted")
///     case .failure(let failure): print(failure.error.reason)
///     }
/// }
/// ```
public enum RecordResult: Hashable, Sendable {
    /// The record exists, in this state.
    case record(RecordDictionary)
    /// The record was deleted, by the request or before.
    case deleted(Tombstone)
    /// The record could not be fetched, saved or deleted.
    case failure(RecordFailure)

    /// What is left of a deleted record.
    public struct Tombstone: Hashable, Sendable {
        /// The name of the deleted record.
        public var recordName = ""
        /// An extension: the framework's deletion callback has the type.
        public var recordType: String?
        /// The zone that the record was in. An extension, which this service always writes.
        public var zoneID: ZoneIDDictionary?
        /// An extension, in the answer to a deletion: its change tag, like that of a save.
        public var recordChangeTag: String?
        /// An extension, where deletions after a version are asked for: when the deleted record was created, in
        /// milliseconds since 1970.
        public var createdTimestamp: Int64?

        /// Makes a tombstone; the extensions are nil unless given.
        public init(
            recordName: String, recordType: String? = nil, zoneID: ZoneIDDictionary? = nil,
            recordChangeTag: String? = nil, createdTimestamp: Int64? = nil
        ) {
            self.recordChangeTag = recordChangeTag
            self.createdTimestamp = createdTimestamp
            self.recordName = recordName
            self.recordType = recordType
            self.zoneID = zoneID
        }

        public init() {}
    }
}

/// Why one record of a request could not be served.
public struct RecordFailure: Hashable, Sendable {
    /// The name of the record; for a `create` without a name, the one that the service chose. Nil if there is none.
    public var recordName: String?
    /// The zone of the record, or the one that the request named. An extension.
    public var zoneID: ZoneIDDictionary?
    /// What went wrong with this record.
    public var error = ServiceError.unread
    /// The error's own identifier, a new one in every answer.
    public var uuid: String?
    /// An extension, with CONFLICT: the record as the service has it.
    public var serverRecord: RecordDictionary?
    /// An extension, with CONFLICT: the record that the client changed, if it is still stored.
    public var ancestorRecord: RecordDictionary?

    /// Makes the failure of one record.
    public init(
        recordName: String?, zoneID: ZoneIDDictionary? = nil, error: ServiceError,
        uuid: String? = nil, serverRecord: RecordDictionary? = nil,
        ancestorRecord: RecordDictionary? = nil
    ) {
        self.recordName = recordName
        self.zoneID = zoneID
        self.error = error
        self.uuid = uuid
        self.serverRecord = serverRecord
        self.ancestorRecord = ancestorRecord
    }

    public init() {}
}
