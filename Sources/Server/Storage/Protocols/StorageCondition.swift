/// The state of a storage engine.
public struct StorageCondition: Hashable, Sendable {
    /// Databases that are open.
    public var openDatabases = 0
    /// Databases that are refused because their own files are damaged.
    public var damagedDatabases = 0
    /// Whether the disk is full: records can be read and deleted, but not saved.
    public var isReadOnly = false

    /// Makes the condition of an engine without open or damaged databases, whose disk is not full.
    public init() {}
}

extension StorageEngine {
    /// An engine without files has nothing that could be damaged or full.
    public var condition: StorageCondition { StorageCondition() }
}
