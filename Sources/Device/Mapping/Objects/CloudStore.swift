import StratusClient

/// Where an app keeps its objects: what a sync asks, and what it tells.
///
/// Each function serves all types of the app: switch on the type, or use what the types have in common.
/// ``MemoryStore`` keeps objects in memory.
public protocol CloudStore: Sendable {
    /// All objects of a type.
    func all<Entity: CloudEntity>(_ type: Entity.Type) async throws -> [Entity]

    /// A new object, stored.
    ///
    /// - Parameters:
    ///   - type: the type of the object.
    ///   - syncID: the name of its record, which the mapping sets; for stores whose rows need it.
    func create<Entity: CloudEntity>(_ type: Entity.Type, syncID: String) async throws -> Entity

    /// The object of a sync ID; nil where there is none. See ``CloudEntity/predicate(forSyncID:)``.
    func fetch<Entity: CloudEntity>(
        _ type: Entity.Type, syncID: String
    ) async throws -> Entity?

    /// Removes the object of a sync ID, which was deleted on another device. None is no error.
    func remove<Entity: CloudEntity>(_ type: Entity.Type, syncID: String) async throws

    /// Takes an object that the mapping changed: its sync ID, or what came from the cloud. A store of
    /// structs writes the row, and one of objects may save its context.
    func keep<Entity: CloudEntity>(_ entity: Entity) async throws

    /// An object was saved, and has its sync ID, or the save failed.
    func didSave<Entity: CloudEntity>(
        _ entity: Entity, record: CKRecord?, error: (any Error)?
    ) async

    /// A sync of a type has compared both sides. Take over what is new, updated and deleted, then call
    /// ``SyncChanges/finish()``: before it nothing changes in the cloud, and without it the next sync
    /// brings the same again. The default does both.
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
