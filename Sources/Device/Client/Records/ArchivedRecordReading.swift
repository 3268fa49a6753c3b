/// Decodes records from archives; see ``CKRecord/encode(with:)``.
///
/// A protocol, because a class's own `init` cannot return an instance of a subclass, and that of a
/// protocol extension can.
public protocol ArchivedRecordReading {}
