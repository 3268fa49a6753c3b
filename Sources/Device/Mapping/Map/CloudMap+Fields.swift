import Foundation
import StratusClient

/// A property that is a field of the record.
struct MappedField<Entity: CloudEntity>: Sendable {
    var name: String
    var path: PartialKeyPath<Entity> & Sendable
    /// The type in the language of schemas.
    var schemaType: String
    var isAsset: Bool { schemaType == "ASSET" }
    var read: @Sendable (Entity) -> (any CKRecordValueProtocol)?
    var write: @Sendable (inout Entity, CKRecord) -> Void
    /// Whether a record's value is one that this app knows; none is.
    var isKnown: @Sendable (CKRecord) -> Bool
    /// What the property has where the record has nothing that it can take.
    var fallback: @Sendable () -> (any CKRecordValueProtocol)?
}

extension CloudMap {
    /// A property that is a field.
    ///
    /// - Parameters:
    ///   - path: a property of a type that a record can hold.
    ///   - name: the field.
    ///   - missing: the value when the record lacks the field; nil leaves the property alone.
    public func field<Value: CKRecordValueProtocol & Sendable>(
        _ path: WritableKeyPath<Entity, Value> & Sendable, _ name: String,
        default missing: Value? = nil
    ) -> Self {
        adding(
            name, path, Value.self, read: { $0[keyPath: path] },
            write: { entity, record in
                let found: Value? = record[name]
                if let value = found ?? missing { entity[keyPath: path] = value }
            }, isKnown: { ($0[name] as Value?) != nil }, fallback: { missing })
    }

    /// An optional property that is a field; nil where the record lacks it.
    public func field<Value: CKRecordValueProtocol & Sendable>(
        _ path: WritableKeyPath<Entity, Value?> & Sendable, _ name: String
    ) -> Self {
        adding(
            name, path, Value.self, read: { $0[keyPath: path] },
            write: { entity, record in entity[keyPath: path] = record[name] },
            isKnown: { ($0[name] as Value?) != nil })
    }

    /// An optional property with raw values that is a field; nil where the record lacks it, or has a raw
    /// value that this app does not know; that one stays in the record until the property is set.
    public func field<Value: RawRepresentable & Sendable>(
        _ path: WritableKeyPath<Entity, Value?> & Sendable, _ name: String
    ) -> Self where Value.RawValue: CKRecordValueProtocol {
        adding(
            name, path, Value.RawValue.self, read: { $0[keyPath: path]?.rawValue },
            write: { entity, record in
                let raw: Value.RawValue? = record[name]
                entity[keyPath: path] = raw.flatMap(Value.init)
            }, isKnown: { ($0[name] as Value.RawValue?).flatMap(Value.init) != nil })
    }

    /// A property with raw values, such as an enumeration, that is a field; a raw value that this app
    /// does not know counts as missing, and stays in the record for as long as the property has the default.
    public func field<Value: RawRepresentable & Sendable>(
        _ path: WritableKeyPath<Entity, Value> & Sendable, _ name: String,
        default missing: Value? = nil
    ) -> Self where Value.RawValue: CKRecordValueProtocol {
        adding(
            name, path, Value.RawValue.self, read: { $0[keyPath: path].rawValue },
            write: { entity, record in
                let raw: Value.RawValue? = record[name]
                if let value = raw.flatMap(Value.init) ?? missing { entity[keyPath: path] = value }
            }, isKnown: { ($0[name] as Value.RawValue?).flatMap(Value.init) != nil },
            fallback: { missing?.rawValue })
    }

    /// A file that is an asset. A fetched one lies in a temporary file, or in the folder of the cache: let
    /// the property's setter, or the store, copy it.
    ///
    /// It is sent when its bytes are others than those of the service's; each save reads the file for that. A file that
    /// is at the service and not on this device leaves the property as it is.
    public func asset(
        _ path: WritableKeyPath<Entity, URL?> & Sendable, _ name: String
    ) -> Self {
        adding(
            name, path, CKAsset.self,
            read: { $0[keyPath: path].map { CKAsset(fileURL: $0) } },
            write: { entity, record in
                let asset: CKAsset? = record[name]
                guard let asset else {
                    entity[keyPath: path] = nil
                    return
                }
                // Unless it is not here: then nobody is to take it for removed.
                if let file = asset.fileURL { entity[keyPath: path] = file }
            }, isKnown: { ($0[name] as CKAsset?) != nil })
    }

    private func adding(
        _ name: String, _ path: PartialKeyPath<Entity> & Sendable, _ type: Any.Type,
        read: @escaping @Sendable (Entity) -> (any CKRecordValueProtocol)?,
        write: @escaping @Sendable (inout Entity, CKRecord) -> Void,
        isKnown: @escaping @Sendable (CKRecord) -> Bool,
        fallback: @escaping @Sendable () -> (any CKRecordValueProtocol)? = { nil }
    ) -> Self {
        with {
            $0.fields.append(
                MappedField(
                    name: name, path: path, schemaType: SchemaText.name(of: type), read: read,
                    write: write, isKnown: isKnown, fallback: fallback))
        }
    }
}
