import Foundation

/// An event of syncing, for troubleshooting. It has no values of fields.
public struct LoggedEvent: Hashable, Sendable, Codable {
    /// When it happened, by this device's clock.
    public var date: Date
    /// The database, 2 private and 3 shared; 0 is the file.
    public var scope: Int
    /// A level of swift-log: `debug`, `info`, `notice`, `warning`, `error`.
    public var level: String
    /// What happened, as a constant word: `operation`, `failed`, `halted`, ….
    public var kind: String
    /// Facts about the event by name, such as the `code` and `message` of a failure; may be empty.
    public var details: [String: String]
}
