import Foundation

/// A reference from a record to another one in the same database. `CKRecord.Reference` in code.
public final class CKReference: NSObject, NSSecureCoding, NSCopying, Sendable {
    /// The ID of the target.
    ///
    /// The target must be in the zone of the record that has the reference; otherwise saving fails
    /// with `CKError.invalidArguments`.
    public let recordID: CKRecord.ID
    /// What happens to the record that has the reference when the target is deleted. Predicates
    /// ignore it.
    public let action: CKRecord.ReferenceAction

    /// Makes a reference to the record with an ID.
    public init(recordID: CKRecord.ID, action: CKRecord.ReferenceAction) {
        self.recordID = recordID
        self.action = action
    }

    /// Makes a reference to a record, of which it contains only the ID.
    public convenience init(record: CKRecord, action: CKRecord.ReferenceAction) {
        self.init(recordID: record.recordID, action: action)
    }

    /// The older name of ``action``.
    @available(*, deprecated, renamed: "action")
    public var referenceAction: CKRecord.ReferenceAction { action }

    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CKReference else { return false }
        return recordID == other.recordID && action == other.action
    }

    public override var hash: Int { recordID.hash }

    public override var description: String { "<CKReference: \(recordID)>" }

    public func copy(with zone: NSZone? = nil) -> Any { self }

    public static var supportsSecureCoding: Bool { true }

    public func encode(with coder: NSCoder) {
        coder.archive(recordID, "recordID")
        coder.encode(Int64(action.rawValue), forKey: "action")
    }

    public init?(coder: NSCoder) {
        guard let recordID = coder.archivedObject(CKRecordID.self, "recordID"),
            let action = CKRecord.ReferenceAction(
                rawValue: UInt(truncatingIfNeeded: coder.decodeInt64(forKey: "action")))
        else { return nil }
        self.recordID = recordID
        self.action = action
    }
}
