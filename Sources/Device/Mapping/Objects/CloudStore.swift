import StratusClient

/// An app's store of objects, which the mapping reads, changes and notifies.
///
/// Each function serves all types of the app: switch on the type, or use what the types have in
/// common. ``MemoryStore`` stores objects in memory.
public protocol CloudStore: Sendable {
    /// All objects of a type.
    func all<Entity: CloudEntity>(_ type: Entity.Type) async throws -> [Entity]

    /// Creates and stores a new object.
    ///
    /// - Parameters:
    ///   - type: the type of the object.
    ///   - syncID: the name of its record, which the mapping sets; for stores whose rows need it.
    func create<Entity: CloudEntity>(_ type: Entity.Type, syncID: String) async throws -> Entity

    /// The object with a sync ID; nil if there is none. See ``CloudEntity/predicate(forSyncID:)``.
    func fetch<Entity: CloudEntity>(
        _ type: Entity.Type, syncID: String
    ) async throws -> Entity?

    /// Removes the object with a sync ID, which was deleted on another device. A missing object is
    /// not an error.
    func remove<Entity: CloudEntity>(_ type: Entity.Type, syncID: String) async throws

    /// Stores an object that the mapping changed: its sync ID, or values from the cloud. A store of
    /// structs writes the row; one of objects may save its context. The sync ID of a new object is kept before the first
    /// request to save it, so that it is not saved twice if the process ends.
    func keep<Entity: CloudEntity>(_ entity: Entity) async throws

    /// Called when an object was saved, and has its sync ID, or when the save failed.
    func didSave<Entity: CloudEntity>(
        _ entity: Entity, record: CKRecord?, error: (any Error)?
    ) async

    /// Called when a sync of a type has compared both sides. Apply the new, updated and deleted
    /// objects, then call ``SyncChanges/finish()``: before it nothing changes in the cloud, and
    /// without it the next sync has the same changes again. The default implementation does both.
    func syncDidFinish<Entity: CloudEntity>(_ changes: SyncChanges<Entity>) async throws
}

extension CloudStore {
    public func keep<Entity: CloudEntity>(_ entity: Entity) async throws {}

    public func didSave<Entity: CloudEntity>(
        _ entity: Entity, record: CKRecord?, error: (any Error)?
    ) async {}

    public func syncDidFinish<Entity: CloudEntity>(_ changes: SyncChanges<Entity>) async throws {
        try await changes.apply()
        try await changes.finish()
    }
}
