/// How a storage engine is doing.
public struct StorageCondition: Hashable, Sendable {
    /// Databases that are open.
    public var openDatabases = 0
    /// Databases that are refused because of what is wrong with their own files.
    public var damagedDatabases = 0
    /// Whether the disk is full: what is stored is read and deleted, and nothing is added.
    public var isReadOnly = false

    public init() {}
}

extension StorageEngine {
    /// An engine without files has nothing that could be damaged or full.
    public var condition: StorageCondition { StorageCondition() }
}
