// What `@CloudRecord` writes: the type of a property says what it is in the record.

extension CloudMap {
    /// A value that a record holds.
    public func property<Value: CKRecordValueProtocol & Sendable>(
        _ path: WritableKeyPath<Entity, Value> & Sendable, _ name: String,
        default missing: Value? = nil
    ) -> Self { field(path, name, default: missing) }

    /// An optional value.
    public func property<Value: CKRecordValueProtocol & Sendable>(
        _ path: WritableKeyPath<Entity, Value?> & Sendable, _ name: String
    ) -> Self { field(path, name) }

    /// A value with a raw value.
    public func property<Value: RawRepresentable & Sendable>(
        _ path: WritableKeyPath<Entity, Value> & Sendable, _ name: String,
        default missing: Value? = nil
    ) -> Self where Value.RawValue: CKRecordValueProtocol { field(path, name, default: missing) }

    /// An optional value with a raw value.
    public func property<Value: RawRepresentable & Sendable>(
        _ path: WritableKeyPath<Entity, Value?> & Sendable, _ name: String
    ) -> Self where Value.RawValue: CKRecordValueProtocol { field(path, name) }

    /// A file.
    public func property(
        _ path: WritableKeyPath<Entity, URL?> & Sendable, _ name: String
    ) -> Self { asset(path, name) }

    /// A reference.
    public func property<Target: CloudEntity>(
        _ path: WritableKeyPath<Entity, Target?> & Sendable, _ name: String
    ) -> Self { reference(path, name) }

    /// A list of references.
    ///
    /// - Parameter missing: an absent list is an empty one, whatever stands here.
    public func property<Target: CloudEntity>(
        _ path: WritableKeyPath<Entity, [Target]> & Sendable, _ name: String,
        default missing: [Target] = []
    ) -> Self { references(path, name) }

    /// Anything else.
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
