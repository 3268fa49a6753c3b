/// How a service is doing, for those who watch it.
public struct ServiceHealth: Hashable, Sendable {
    /// How much of its work it does.
    public enum Status: String, Sendable {
        /// Everything.
        case ready
        /// Most of it: databases are refused because of their files, or the disk is full.
        case degraded
        /// None: it is about to stop, or its storage is closed.
        case notReady = "not ready"
    }

    public var status: Status
    /// Databases that are refused because of what is wrong with their own files.
    public var damagedDatabases: Int
    /// Whether the disk is full: what is stored is read and deleted, and nothing is added.
    public var isReadOnly: Bool
}
