import Foundation
import StratusMatching
import StratusRecords
import Synchronization

/// A record: named values with an ID, a type and metadata of the service.
///
/// Set values through the subscript; the default save policy sends only changed values.
///
/// ```swift
/// let trail = CKRecord(recordType: "Trail")
/// trail["region"] = "Alps"
/// ```
///
/// Apps cannot subclass it. `@unchecked Sendable`: all mutable state is in the mutex `state`.
public class CKRecord: NSObject, ArchivedRecordReading, NSSecureCoding, NSCopying,
    CKRecordKeyValueSetting, Sequence, @unchecked Sendable
{
    /// The ID of a record; see ``CKRecordID``.
    public typealias ID = CKRecordID
    /// A reference from a record to another one; see ``CKReference``.
    public typealias Reference = CKReference
    /// The name of a record type: an ASCII letter, then letters, digits and underscores, 255 at
    /// most.
    public typealias RecordType = String
    /// The name of a field; the rule is that of record types, except for the system's fields.
    public typealias FieldKey = String

    /// What happens to the record that has a reference when its target is deleted.
    public enum ReferenceAction: UInt, Sendable {
        /// Nothing happens: the reference stays, and its target need not exist.
        case none = 0
        /// The record is deleted with the target.
        ///
        /// The target must exist or be saved in the same operation; otherwise saving fails with
        /// `CKError.referenceViolation`. At most 750 such references may have one target.
        case deleteSelf = 1
    }

    /// The record types that exist in every container.
    public enum SystemType {
        /// The type of the record that each user has in the public and in the private database.
        ///
        /// Only the user can change it, and no one can create, delete or query such records.
        public static let userRecord: RecordType = "Users"
        /// The type of a ``CKShare``.
        public static let share: RecordType = "cloudkit.share"
    }

    /// The names of a record's system fields in predicates and sort descriptors.
    public enum SystemFieldKey {
        /// The record's ID; queries also accept `recordID` and `recordName`.
        public static let recordID: FieldKey = "___recordID"
        /// The user who created the record; queries also accept `creatorUserRecordID`.
        public static let creatorUserRecordID: FieldKey = "___createdBy"
        /// When the record was first saved; queries also accept `creationDate`.
        public static let creationDate: FieldKey = "___createTime"
        /// The user who saved the record last; queries also accept `lastModifiedUserRecordID`.
        public static let lastModifiedUserRecordID: FieldKey = "___modifiedBy"
        /// When the record was last saved; queries also accept `modificationDate`.
        public static let modificationDate: FieldKey = "___modTime"
        /// The reference to the record's parent in a sharing hierarchy.
        public static let parent: FieldKey = "___parent"
        /// The reference to the share whose root is the record.
        public static let share: FieldKey = "___share"
    }

    /// The name of the record's type, which never changes.
    public let recordType: RecordType
    /// The ID of the record: its zone, and its name in the zone.
    public let recordID: CKRecord.ID
    let state: Mutex<RecordState>

    init(recordType: RecordType, recordID: CKRecord.ID, state: RecordState) {
        self.recordType = recordType
        self.recordID = recordID
        self.state = Mutex(state)
    }

    /// - Parameter recordType: an ASCII letter, then letters, digits and underscores, 255 at most.
    /// - Parameter recordID: a new name in the default zone unless given.
    /// - Precondition: the type's name is not empty, and its only ASCII characters are letters,
    ///   digits and underscores; any other mistake in it is an error of saving the record. A share
    ///   is made by its own initializers.
    public convenience init(recordType: RecordType, recordID: CKRecord.ID = CKRecord.ID()) {
        precondition(
            recordType != SystemType.share,
            "A share is not a plain record; make it with CKShare(rootRecord:) or"
                + " CKShare(recordZoneID:).")
        precondition(
            !recordType.isEmpty && recordType.unicodeScalars.allSatisfy(Self.mayBeInTypeName),
            "The record's type “\(recordType)” is empty or has other characters than letters, digits and underscores;"
                + " name it with an ASCII letter, then those, 255 at most.")
        self.init(recordType: recordType, recordID: recordID, state: RecordState())
    }

    private static func mayBeInTypeName(_ scalar: Unicode.Scalar) -> Bool {
        !scalar.isASCII || scalar == "_" || scalar.properties.isAlphabetic
            || scalar.properties.numericType != nil
    }

    /// Makes a record with a new name in a zone.
    ///
    /// - Precondition: as for ``init(recordType:recordID:)``.
    @available(*, deprecated, renamed: "init(recordType:recordID:)")
    public convenience init(recordType: RecordType, zoneID: CKRecordZone.ID) {
        self.init(recordType: recordType, recordID: CKRecord.ID(zoneID: zoneID))
    }

    public static var supportsSecureCoding: Bool { true }

    // MARK: What the service knows

    /// The version of the record that was last fetched or saved, an opaque text; nil before it was saved. The default
    /// save policy uses it to detect conflicts.
    public var recordChangeTag: String? { state.withLock { $0.changeTag } }
    /// When the record was first saved, by the service's clock; nil before that.
    public var creationDate: Date? { state.withLock { $0.creationDate } }
    /// When the record was last saved, by the service's clock; nil before it was saved.
    public var modificationDate: Date? { state.withLock { $0.modificationDate } }

    /// The user who created the record; nil before it was saved, and if the service does not say.
    public var creatorUserRecordID: CKRecord.ID? {
        Self.userRecordID(state.withLock { $0.creatorName })
    }

    /// The user who changed the record last; nil before it was saved, and if the service does not say.
    public var lastModifiedUserRecordID: CKRecord.ID? {
        Self.userRecordID(state.withLock { $0.modifierName })
    }

    /// - Parameter name: empty if the service does not name the user.
    private static func userRecordID(_ name: String?) -> CKRecord.ID? {
        name.flatMap { $0.isEmpty ? nil : CKRecordID(known: $0) }
    }

    /// The share whose root is this record.
    public var share: CKRecord.Reference? { state.withLock { $0.share } }

    // MARK: The sharing hierarchy

    /// The record above this one in a sharing hierarchy.
    ///
    /// - Precondition: the action of the reference is `.none`.
    public var parent: CKRecord.Reference? {
        get { state.withLock { $0.parent } }
        set {
            precondition(
                newValue?.action != .deleteSelf,
                "The reference to the parent \(newValue?.recordID.recordName ?? "") has the action deleteSelf; use the action none."
            )
            state.withLock { $0.setParent(newValue) }
        }
    }

    /// Sets the record above this one in a sharing hierarchy; nil removes it.
    ///
    /// The parent must exist or be saved in the same operation; otherwise saving fails with
    /// `CKError.referenceViolation`.
    public func setParent(_ parentRecord: CKRecord?) {
        parent = parentRecord.map { CKReference(record: $0, action: .none) }
    }

    /// Sets the record above this one by its ID; nil removes it. The rules are those of
    /// ``setParent(_:)``.
    public func setParent(_ parentRecordID: CKRecord.ID?) {
        parent = parentRecordID.map { CKReference(recordID: $0, action: .none) }
    }

    // MARK: Values

    /// The value of a field, plain or encrypted; nil if there is none, or if this device cannot
    /// decrypt it.
    public func object(forKey key: FieldKey) -> (any CKRecordValue)? {
        // The object of the value is made outside the lock.
        state.withLock { state in
            state.readKeys?.insert(key)
            return state.values[key]
        }?.object
    }

    /// Sets a field; nil removes it. An encrypted field stays encrypted.
    ///
    /// A key is an ASCII letter, then letters, digits and underscores, 255 at most. Other keys are
    /// refused when the record is saved: with `CKError.permissionFailure` if they begin with an
    /// underscore, as the system's fields do, otherwise with `CKError.invalidArguments`, which also
    /// refuses an array with elements of different types.
    ///
    /// - Precondition: the object is of a type that a field can hold. Source: Apple's page
    ///   "setObject(_:forKey:)".
    public func setObject(_ object: (any CKRecordValue)?, forKey key: FieldKey) {
        set(object, forKey: key)
    }

    /// The value of a field, as ``object(forKey:)`` gives it; setting nil removes it.
    public subscript(key: FieldKey) -> (any CKRecordValue)? {
        get { object(forKey: key) }
        set { setObject(newValue, forKey: key) }
    }

    /// The fields that have a value, plain and encrypted, in the order of their names.
    ///
    /// It leaves out encrypted fields whose key this device lacks, because code that copies all
    /// fields would remove them; ``encryptedValues`` lists them.
    public func allKeys() -> [FieldKey] {
        state.withLock { state in
            state.readKeys?.formUnion(state.values.keys)
            return state.values.compactMap { key, value in value.isReadable ? key : nil }
        }.sorted()
    }

    /// The fields, plain and encrypted, that were set or removed since the record was fetched or saved.
    ///
    /// In a record that was decoded from its system fields, or fetched with some of its fields only, a field that is set
    /// to nil counts as removed although it has no value here.
    public func changedKeys() -> [FieldKey] {
        state.withLock { Array($0.changes.keys) }.sorted()
    }

    /// The distinct words of all string fields in lower case and without diacritics; not of
    /// encrypted fields, which cannot be searched.
    public func allTokens() -> [String] {
        let plain = state.withLock { state in
            state.readKeys?.formUnion(state.values.keys)
            return state.values.filter { !state.encryptedKeys.contains($0.key) }
        }
        let strings = plain.values.compactMap { $0.object as? String }
        return Set(strings.flatMap(SearchTokens.words)).sorted()
    }

    public func makeIterator() -> CKRecordKeyValueIterator {
        CKRecordKeyValueIterator(self)
    }

    // MARK: Identity

    /// Records are equal if they have the same ID, type and change tag; values are not compared.
    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CKRecord else { return false }
        return self === other
            || (recordID == other.recordID && recordType == other.recordType
                && recordChangeTag == other.recordChangeTag)
    }

    public override var hash: Int { recordID.hash }

    /// The ID, change tag and values; unsaved fields have a star, and encrypted values are not
    /// shown.
    public override var description: String { describe("CKRecord") }

    public func copy(with zone: NSZone? = nil) -> Any {
        var state = self.state.withLock { $0 }
        state.sharing = state.sharing?.copied
        return CKRecord.made(recordType: recordType, recordID: recordID, state: state)
    }

    /// Makes a record from a state, as a `CKShare` if it is one.
    static func made(
        recordType: RecordType, recordID: CKRecord.ID, state: RecordState
    ) -> CKRecord {
        state.sharing == nil
            ? CKRecord(recordType: recordType, recordID: recordID, state: state)
            : CKShare(recordID: recordID, state: state)
    }
}
