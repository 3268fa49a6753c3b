import StratusRecords
import StratusStorage
import StratusWire

/// A reference with an action: it has consequences for its record or for its target.
struct ActingReference: Hashable {
    /// The name of a record of the same zone.
    var target: String
    var action: ReferenceRow.Action

    private static let words = ["\"DELETE_SELF\"", "\"VALIDATE\""].map { Array($0.utf8) }

    static func all(in fields: [Field]) -> Set<ActingReference> {
        var found: Set<ActingReference> = []
        for field in fields {
            switch field.value {
            case .reference(let reference): found.add(reference)
            case .referenceList(let references):
                for reference in references { found.add(reference) }
            default: break
            }
        }
        return found
    }

    /// - Parameter payload: A record's fields as they are stored. Most have no such reference; then they are not
    ///   parsed.
    /// - Throws: ``WireError`` when the bytes cannot be read.
    static func all(in payload: [UInt8]) throws(WireError) -> Set<ActingReference> {
        guard words.contains(where: { payload.contains(bytes: $0) }) else { return [] }
        return all(in: try RecordFields.encoded(payload).values())
    }
}

extension Set<ActingReference> {
    fileprivate mutating func add(_ reference: Reference) {
        switch reference.action {
        case .none: break
        case .deleteSelf:
            insert(ActingReference(target: reference.recordName, action: .deleteSelf))
        case .validate:
            insert(ActingReference(target: reference.recordName, action: .validate))
        }
    }
}
