extension CloudMap {
    /// A property that refers to one object; saved with the object and fetched with it.
    public func reference<Target: CloudEntity>(
        _ path: WritableKeyPath<Entity, Target?> & Sendable, _ name: String
    ) -> Self {
        with {
            $0.references.append(
                MappedReference(
                    name: name, path: path, target: Target.self, isList: false,
                    read: { .objects($0[keyPath: path].map { [$0] } ?? []) },
                    fill: { entity, filling in
                        entity[keyPath: path] =
                            filling.objects(Target.self).first ?? Target.cloudMap.placeholder
                    }))
        }
    }

    /// A property that refers to many objects, in their order.
    public func references<Target: CloudEntity>(
        _ path: WritableKeyPath<Entity, [Target]> & Sendable, _ name: String
    ) -> Self {
        with {
            $0.references.append(
                MappedReference(
                    name: name, path: path, target: Target.self, isList: true,
                    read: { .objects($0[keyPath: path]) },
                    fill: { $0[keyPath: path] = $1.objects(Target.self) }))
        }
    }

    /// A property that holds the sync ID of one object, as a row of a table does.
    public func reference<Target: CloudEntity>(
        _ path: WritableKeyPath<Entity, String?> & Sendable, to target: Target.Type, _ name: String
    ) -> Self {
        with {
            $0.references.append(
                MappedReference(
                    name: name, path: path, target: target, isList: false,
                    read: { .names($0[keyPath: path].map { [$0] } ?? []) },
                    fill: { $0[keyPath: path] = $1.names.first }))
        }
    }

    /// A property that holds the sync IDs of many objects.
    public func references<Target: CloudEntity>(
        _ path: WritableKeyPath<Entity, [String]> & Sendable, to target: Target.Type, _ name: String
    ) -> Self {
        with {
            $0.references.append(
                MappedReference(
                    name: name, path: path, target: target, isList: true,
                    read: { .names($0[keyPath: path]) },
                    fill: { $0[keyPath: path] = $1.names }))
        }
    }
}

extension CloudEntity {
    var isPlaceholder: Bool { Self.cloudMap.placeholder.map { isSame(as: $0) } ?? false }
}
