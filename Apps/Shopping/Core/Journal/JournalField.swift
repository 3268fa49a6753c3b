/// A field value of a journal record, in the three kinds a journal uses.
///
/// Code outside the journal converts it to a record's value; the journal does not depend on
/// CloudKit.
public enum JournalField: Hashable, Sendable {
    case string(String)
    case int64(Int64)
    /// Whole milliseconds since 1970-01-01T00:00Z.
    case date(milliseconds: Int64)
}
