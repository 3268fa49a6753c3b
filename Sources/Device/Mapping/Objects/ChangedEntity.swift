/// An object that the mapping changed: filled from a record, linked, or removed.
public struct ChangedEntity: Sendable {
    /// The mapped type of the object.
    public var entityType: any CloudEntity.Type
    /// The sync ID of the object, which is the name of its record.
    public var syncID: String
}

extension CloudMapping {
    /// The objects that are changed by syncing, from now on, for a screen that shows one. An object
    /// is sent when its fields are filled, and again when its references are.
    ///
    /// ``CloudObject`` notifies its observers by itself.
    public func changes() -> AsyncStream<ChangedEntity> { changedEntities.stream() }

    func announce(_ type: any CloudEntity.Type, _ name: String) {
        changedEntities.send(ChangedEntity(entityType: type, syncID: name))
    }
}
