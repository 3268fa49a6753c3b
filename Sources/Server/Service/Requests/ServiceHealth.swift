/// The state of a service, for monitoring.
public struct ServiceHealth: Hashable, Sendable {
    /// How much of its work the service does.
    public enum Status: String, Sendable {
        /// All of it.
        case ready
        /// Most of it: databases are refused because their files are damaged, or the disk is full.
        case degraded
        /// None of it: the service is about to stop, or its storage is closed.
        case notReady = "not ready"
    }

    /// How much of its work the service does now; `notReady` also when it is degraded.
    public var status: Status
    /// Databases that are refused because their own files are damaged.
    public var damagedDatabases: Int
    /// Whether the disk is full: records can be read and deleted, but not saved.
    public var isReadOnly: Bool
}
