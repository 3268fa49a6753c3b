import StratusClient

/// A property that refers to other objects.
struct MappedReference<Entity: CloudEntity>: Sendable {
    /// The content of the property: objects, or only their sync IDs.
    enum Content {
        case objects([any CloudEntity])
        case names([String])
    }

    /// The new content of the property.
    struct Filling {
        var names: [String]
        var objects: [String: any CloudEntity]
    }

    var name: String
    var path: PartialKeyPath<Entity> & Sendable
    var target: any CloudEntity.Type
    var isList: Bool
    var read: @Sendable (Entity) -> Content
    var fill: @Sendable (inout Entity, Filling) -> Void
}

extension MappedReference {
    /// The names of the records that a record refers to by this reference. A record never has an empty name, which a
    /// service may nevertheless return.
    func names(in record: CKRecord) -> [String] {
        let references: [CKRecord.Reference]
        if isList {
            let list: [CKRecord.Reference]? = record[name]
            references = list ?? []
        } else {
            let one: CKRecord.Reference? = record[name]
            references = one.map { [$0] } ?? []
        }
        return references.map(\.recordID.recordName).filter { !$0.isEmpty }
    }

    /// The names of the records that a record refers to, and those of ignored rows in the property, to which no record
    /// refers.
    func names(in record: CKRecord, keeping ignored: Set<String>, of entity: Entity) -> [String] {
        var names = self.names(in: record)
        guard !ignored.isEmpty, case .names(let held) = read(entity) else { return names }
        for (place, name) in held.enumerated()
        where ignored.contains(name) && !names.contains(name) && (isList || names.isEmpty) {
            names.insert(name, at: min(place, names.count))
        }
        return names
    }

    /// The objects in the property, except the placeholder.
    func objects(of entity: Entity) -> [any CloudEntity] {
        guard case .objects(let objects) = read(entity) else { return [] }
        return objects.filter { !$0.isPlaceholder }
    }

    /// The names of the objects in the property.
    func names(of entity: Entity) -> [String] {
        if case .names(let names) = read(entity) { return names }
        return objects(of: entity).compactMap(\.cloudID)
    }
}

extension MappedReference.Filling {
    func objects<Target: CloudEntity>(_ type: Target.Type) -> [Target] {
        names.compactMap { objects[$0] as? Target }
    }
}
