/// What a role may do with the public records of a type: the schema language's READ, CREATE and WRITE.
///
/// The raw value is what is stored. Source: "Integrating a Text-Based Schema into Your Workflow" in
/// Apple's documentation.
public struct RecordPermissions: OptionSet, Hashable, Sendable {
    public var rawValue: UInt8

    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Permission to look up and query records, and to be notified of their changes.
    public static let read = RecordPermissions(rawValue: 1)
    /// Permission to create records, also by a forced update of one that does not exist.
    public static let create = RecordPermissions(rawValue: 2)
    /// Permission to change and delete; it includes reading.
    public static let write = RecordPermissions(rawValue: 4)
}

/// The roles that every container has.
public enum BuiltInRole {
    /// Everyone, signed in or not.
    public static let world = "_world"
    /// Every user who is signed in.
    public static let icloud = "_icloud"
    /// The user who created the record.
    public static let creator = "_creator"

    /// The names of these three roles, which no schema has to create.
    public static let all: Set<String> = [world, icloud, creator]
}
