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
    public typealias ID = CKRecordID
    public typealias Reference = CKReference
    public typealias RecordType = String
    public typealias FieldKey = String

    /// What happens to the record that has a reference when its target is deleted.
    public enum ReferenceAction: UInt, Sendable {
        case none = 0
        case deleteSelf = 1
    }

    public enum SystemType {
        public static let userRecord: RecordType = "Users"
        public static let share: RecordType = "cloudkit.share"
    }

    public enum SystemFieldKey {
        public static let recordID: FieldKey = "___recordID"
        public static let creatorUserRecordID: FieldKey = "___createdBy"
        public static let creationDate: FieldKey = "___createTime"
        public static let lastModifiedUserRecordID: FieldKey = "___modifiedBy"
        public static let modificationDate: FieldKey = "___modTime"
        public static let parent: FieldKey = "___parent"
        public static let share: FieldKey = "___share"
    }

    public let recordType: RecordType
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
            "The record's type is empty or has other characters than letters, digits and underscores;"
                + " name it with an ASCII letter, then those, 255 at most.")
        self.init(recordType: recordType, recordID: recordID, state: RecordState())
    }

    private static func mayBeInTypeName(_ scalar: Unicode.Scalar) -> Bool {
        !scalar.isASCII || scalar == "_" || scalar.properties.isAlphabetic
            || scalar.properties.numericType != nil
    }

    @available(*, deprecated, renamed: "init(recordType:recordID:)")
    public convenience init(recordType: RecordType, zoneID: CKRecordZone.ID) {
        self.init(recordType: recordType, recordID: CKRecord.ID(zoneID: zoneID))
    }

    public static var supportsSecureCoding: Bool { true }

    // MARK: What the service knows

    public var recordChangeTag: String? { state.withLock { $0.changeTag } }
    public var creationDate: Date? { state.withLock { $0.creationDate } }
    public var modificationDate: Date? { state.withLock { $0.modificationDate } }

    /// The user who created the record; nil before it was saved.
    public var creatorUserRecordID: CKRecord.ID? {
        state.withLock { $0.creatorName }.map { CKRecordID(known: $0) }
    }

    /// The user who changed the record last; nil before it was saved.
    public var lastModifiedUserRecordID: CKRecord.ID? {
        state.withLock { $0.modifierName }.map { CKRecordID(known: $0) }
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
                "A reference to a parent has the action deleteSelf; give it none.")
            state.withLock { $0.setParent(newValue) }
        }
    }

    public func setParent(_ parentRecord: CKRecord?) {
        parent = parentRecord.map { CKReference(record: $0, action: .none) }
    }

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

    /// Sets a field; nil removes it. A field that is encrypted stays so.
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
    public func changedKeys() -> [FieldKey] {
        state.withLock { Array($0.changes.keys) }.sorted()
    }

    /// The fields whose values only the devices of the user, and of a share's participants, can read.
    ///
    /// They are encrypted on this device before they are sent, with a key that the service never
    /// sees. They cannot be queried, sorted or indexed. In the public database, and for references
    /// and assets, saving fails with `CKError.invalidArguments`. A field is either encrypted or
    /// plain and cannot change; an encrypted one can also be read and set on the record itself. A
    /// value whose key this device lacks reads as nil; see
    /// `Documentation/Decisions/0010-encrypted-values.md`.
    ///
    /// ```swift
    /// record.encryptedValues["diary"] = "We met a marmot."
    /// let diary = record.encryptedValues["diary"] as? String
    /// ```
    public var encryptedValues: any CKRecordKeyValueSetting & Sendable {
        EncryptedValues(record: self)
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
