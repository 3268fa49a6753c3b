import StratusClient

/// The cloud operations of an object: `person.iCloud`.
///
/// ```swift
/// person.iCloud.save()  // in the background
/// try await person.iCloud.saveKeysAndWait(\.firstName)
/// try await person.iCloud.deleteAndWait()
/// ```
public struct CloudProxy<Entity: CloudEntity>: Sendable {
    let entity: Entity

    /// Saves the object and the objects that it refers to, in the background; the store gets the
    /// outcome in `didSave`.
    public func save() {
        start(naming: true) { try await $0.save(entity) }
    }

    /// Saves the object and the changed objects that it refers to, and returns once the cloud has
    /// them. The record's name is written into the object.
    ///
    /// - Throws: ``MappingError``, or the service's error.
    public func saveAndWait() async throws {
        try await CloudMapping.of(Entity.self).save(entity)
    }

    /// Saves some properties of the object, and what they refer to, in the background.
    public func saveKeys(_ paths: (PartialKeyPath<Entity> & Sendable)...) {
        start(naming: true) { try await $0.save(entity, keys: paths) }
    }

    /// Saves some properties of the object and waits.
    public func saveKeysAndWait(_ paths: (PartialKeyPath<Entity> & Sendable)...) async throws {
        try await CloudMapping.of(Entity.self).save(entity, keys: paths)
    }

    /// Deletes the object's record in the background, so that all other devices remove their
    /// objects. The app removes its own object.
    public func delete() {
        start { try await $0.delete(entity) }
    }

    /// Deletes the object's record, and returns once the cloud has done it.
    public func deleteAndWait() async throws {
        try await CloudMapping.of(Entity.self).delete(entity)
    }

    /// Fills the object from a record.
    ///
    /// - Parameters:
    ///   - record: a record of the object's type, such as one of ``SyncChanges``.
    ///   - fetchReferences: also fetches the records that it refers to. Missing objects are created
    ///     and filled, and so are the objects that they refer to; until then a property has its
    ///     placeholder, and ``CloudMapping/changes()`` reports when it is filled. If it is false, a
    ///     property keeps only those of its objects that the record refers to.
    /// - Returns: the object; a struct is a new value.
    @discardableResult
    public func update(from record: CKRecord, fetchReferences: Bool = false) async throws -> Entity
    {
        try await CloudMapping.of(Entity.self).update(
            entity, from: record, fetchReferences: fetchReferences)
    }

    private func start(
        naming isNamed: Bool = false,
        _ body: @escaping @Sendable (CloudMapping) async throws -> Void
    ) {
        let mapping: CloudMapping
        do {
            mapping = try CloudMapping.of(Entity.self)
        } catch {
            // Without a setup there is no store to notify, so the error is logged; the methods that
            // wait throw it.
            CloudMapping.withoutSetup.withLock { $0.error("\(error)") }
            return
        }
        // Named at once: a deletion may overtake the save, and then needs the name. If naming fails, the save below
        // fails with the same error.
        if isNamed, !mapping.isLocked, !mapping.isIgnored(entity) { _ = try? mapping.name(entity) }
        // No caller waits for the task, so it may also start within a callback of the store.
        CurrentWork.$current.withValue(nil) {
            _ = mapping.world.startTask("mapping call") {
                // The mapping logs the error, and the store gets it in `didSave`.
                try? await body(mapping)
            }
        }
    }
}

/// The cloud operations of a type: `Person.iCloud`.
public struct CloudTypeProxy<Entity: CloudEntity>: Sendable {
    /// Syncs the objects of the type; see ``CloudMapping/syncEntities(specific:forced:)``.
    public func sync(forced: Bool = false) async throws {
        try await CloudMapping.of(Entity.self).syncEntities(specific: [Entity.self], forced: forced)
    }
}

extension CloudEntity {
    /// Saves, deletes and updates the object.
    public var iCloud: CloudProxy<Self> { CloudProxy(entity: self) }
    /// Syncs the type.
    public static var iCloud: CloudTypeProxy<Self> { CloudTypeProxy() }
}
