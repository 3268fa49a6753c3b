extension CloudMapping {
    /// The objects that are changed by syncing, from now on, for a screen that shows one. An object
    /// is sent when its fields are filled, and again when its references are.
    ///
    /// ``CloudObject`` notifies its observers by itself.
    ///
    /// ```swift
    /// for await change in mapping.changes() where change.syncID == person.syncID { redraw() }
    /// ```
    public func changes() -> AsyncStream<ChangedEntity> { changedEntities.stream() }

    func announce(_ type: any CloudEntity.Type, _ name: String) {
        changedEntities.send(ChangedEntity(entityType: type, syncID: name))
    }
}
