import StratusRecords

/// A transaction's change of a record's row.
enum WrittenRow: Sendable {
    /// The record was written; this is its new state.
    indirect case put(RecordSnapshot)
    /// Only its system fields changed.
    case system
    case removed

    var hasFields: Bool {
        switch self {
        case .put: true
        case .system, .removed: false
        }
    }
}
