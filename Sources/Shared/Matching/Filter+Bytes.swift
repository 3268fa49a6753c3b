import StratusRecords
import StratusWire

extension QueryDictionary.Filter {
    /// Bytes of the value, or of all members of the list.
    package var valueBytes: Int {
        value.members.map { $0.reduce(0) { $0 + $1.comparedBytes } } ?? value.comparedBytes
    }
}

extension FieldValue {
    /// Bytes of the value, or of the longest member of the list.
    package var longestBytes: Int {
        members.map { $0.reduce(0) { max($0, $1.comparedBytes) } } ?? comparedBytes
    }

    /// The most bytes that a comparison with the scalar reads.
    fileprivate var comparedBytes: Int {
        switch self {
        case .string(let text): text.utf8.count
        case .bytes(let bytes): bytes.count
        case .reference(let reference):
            reference.recordName.utf8.count + (reference.zoneID?.name.utf8.count ?? 0)
        default: 16
        }
    }
}
