import StratusClient

/// What an object can do in the cloud: `person.iCloud`.
public struct CloudProxy<Entity: CloudEntity>: Sendable {
    let entity: Entity

    /// Saves the object and what it refers to, in the background; the store hears of it in `didSave`.
    public func save() {
        start(naming: true) { try await $0.save(entity) }
    }

    /// Saves the object with all that it refers to, as far as that was changed, and returns once the cloud
    /// has it. The record's name is written into the object.
    ///
    /// - Throws: ``MappingError``, or what the service says.
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

    /// Deletes the object's record, in the background, and has all other devices delete theirs. The
    /// app removes the object itself.
    public func delete() {
        start { try await $0.delete(entity) }
    }

    /// Deletes the object's record, and returns once the cloud has done it.
    public func deleteAndWait() async throws {
        try await CloudMapping.of(Entity.self).delete(entity)
    }

    /// Takes over a record.
    ///
    /// - Parameters:
    ///   - record: of the object's type, such as one of ``SyncChanges``.
    ///   - fetchReferences: also loads what the record refers to. Objects that are not here are created and
    ///     filled, and so on through what they refer to; a property that refers to some has its placeholder
    ///     until then, and ``CloudMapping/changes()`` tells when it is filled.
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
            // There is no store to hear of it; the call that waits throws it.
            CloudMapping.withoutSetup.withLock { $0.error("\(error)") }
            return
        }
        // At once, so that a deletion that overtakes the save knows what it deletes; what is wrong with the
        // name the save says.
        if isNamed, !mapping.isLocked, !mapping.isIgnored(entity) { _ = try? mapping.name(entity) }
        // Nobody waits for it, also where a callback of the store calls.
        Engagement.$current.withValue(nil) {
            _ = mapping.world.startTask("mapping call") {
                try? await body(mapping)  // The mapping logs it, and the store hears of it.
            }
        }
    }
}

/// What a type can do in the cloud: `Person.iCloud`.
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
