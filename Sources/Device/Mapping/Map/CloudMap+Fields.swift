import Foundation
import StratusClient

extension CloudMap {
    /// A property that is a field.
    ///
    /// - Parameters:
    ///   - path: a property of a type that a record can hold.
    ///   - name: the field.
    ///   - missing: the value when the record lacks the field; nil leaves the property unchanged.
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

    /// An optional property that is a field; nil when the record lacks it.
    public func field<Value: CKRecordValueProtocol & Sendable>(
        _ path: WritableKeyPath<Entity, Value?> & Sendable, _ name: String
    ) -> Self {
        adding(
            name, path, Value.self, read: { $0[keyPath: path] },
            write: { entity, record in entity[keyPath: path] = record[name] },
            isKnown: { ($0[name] as Value?) != nil })
    }

    /// An optional property with raw values that is a field; nil when the record lacks it or has a
    /// raw value that is unknown to this app, which stays in the record until the property is set.
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

    /// A property with raw values, such as an enumeration, that is a field; a raw value that is
    /// unknown to this app counts as missing, and stays in the record while the property has the
    /// default.
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

    /// A file that is an asset. A fetched one is a temporary file, or in the folder of the cache:
    /// the property's setter, or the store, must copy it.
    ///
    /// It is sent when its bytes differ from the service's; each save reads the file to find out. A
    /// file that is at the service but not on this device leaves the property unchanged.
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
                // A file that is not on this device must not look removed.
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
