// The functions that the code of `@CloudRecord` calls: the type of a property decides what it is in the record.

extension CloudMap {
    /// Maps a property whose value a record can hold.
    public func property<Value: CKRecordValueProtocol & Sendable>(
        _ path: WritableKeyPath<Entity, Value> & Sendable, _ name: String,
        default missing: Value? = nil
    ) -> Self { field(path, name, default: missing) }

    /// Maps a property with an optional value.
    public func property<Value: CKRecordValueProtocol & Sendable>(
        _ path: WritableKeyPath<Entity, Value?> & Sendable, _ name: String
    ) -> Self { field(path, name) }

    /// Maps a property by its raw value.
    public func property<Value: RawRepresentable & Sendable>(
        _ path: WritableKeyPath<Entity, Value> & Sendable, _ name: String,
        default missing: Value? = nil
    ) -> Self where Value.RawValue: CKRecordValueProtocol { field(path, name, default: missing) }

    /// Maps an optional property by its raw value.
    public func property<Value: RawRepresentable & Sendable>(
        _ path: WritableKeyPath<Entity, Value?> & Sendable, _ name: String
    ) -> Self where Value.RawValue: CKRecordValueProtocol { field(path, name) }

    /// Maps a property with a file as an asset.
    public func property(
        _ path: WritableKeyPath<Entity, URL?> & Sendable, _ name: String
    ) -> Self { asset(path, name) }

    /// Maps a property with another object as a reference.
    public func property<Target: CloudEntity>(
        _ path: WritableKeyPath<Entity, Target?> & Sendable, _ name: String
    ) -> Self { reference(path, name) }

    /// Maps a property with other objects as a list of references.
    ///
    /// - Parameter missing: not used: an absent list is read as an empty one.
    public func property<Target: CloudEntity>(
        _ path: WritableKeyPath<Entity, [Target]> & Sendable, _ name: String,
        default missing: [Target] = []
    ) -> Self { references(path, name) }

    /// Refuses, when it is compiled, a property of any other type.
    @_disfavoredOverload
    @available(
        *, unavailable,
        message:
            "A record holds no value of this property's type: mark the property @CloudLocal, or map the type with @CloudRecord."
    )
    public func property<Value>(
        _ path: WritableKeyPath<Entity, Value> & Sendable, _ name: String,
        default missing: Value? = nil
    ) -> Self { self }
}
