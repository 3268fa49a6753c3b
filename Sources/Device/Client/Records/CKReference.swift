import Foundation

/// A reference from a record to another one in the same database. `CKRecord.Reference` in code.
public final class CKReference: NSObject, NSSecureCoding, NSCopying, Sendable {
    public let recordID: CKRecord.ID
    public let action: CKRecord.ReferenceAction

    public init(recordID: CKRecord.ID, action: CKRecord.ReferenceAction) {
        self.recordID = recordID
        self.action = action
    }

    public convenience init(record: CKRecord, action: CKRecord.ReferenceAction) {
        self.init(recordID: record.recordID, action: action)
    }

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
