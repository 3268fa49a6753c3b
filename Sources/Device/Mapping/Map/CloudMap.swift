import Foundation
import StratusClient

/// The mapping of a type: its record type, and the field of each property.
///
/// It is made by a chain of calls, and checked when a ``CloudMapping`` is set up.
///
/// ```swift
/// static let cloudMap = CloudMap<Person>("Person")
///     .field(\.firstName, "firstName")
///     .field(\.lastName, "lastName")
///     .reference(\.home, "address")
///     .references(\.friends, "friends")
/// ```
///
/// A field that a record lacks becomes nil in an optional property, and the default in another one;
/// without a default the property keeps its value, which in a new object is the initial one. Fields
/// without a property stay unchanged in the record.
public struct CloudMap<Entity: CloudEntity>: Sendable {
    /// The type of the records of these objects; no other type of a ``CloudMapping`` may have it.
    public let recordType: CKRecord.RecordType
    var fields: [MappedField<Entity>] = []
    var references: [MappedReference<Entity>] = []
    var syncIDKey: Accessor<Entity, String?>?
    var changeDateKey: Accessor<Entity, Date?>?
    var changeDateName = "changeDate"
    var isWeak = false
    var placeholder: Entity?
    var ignores: [@Sendable (Entity) -> Bool] = []

    /// - Parameter recordType: an ASCII letter, then letters, digits and underscores.
    public init(_ recordType: CKRecord.RecordType) {
        self.recordType = recordType
    }

    /// The property with the name of the object's record; overrides ``CloudKeyed``.
    public func syncID(_ path: WritableKeyPath<Entity, String?> & Sendable) -> Self {
        with { $0.syncIDKey = Accessor(path) }
    }

    /// The property with the date of the object's last change; overrides ``CloudKeyed``.
    ///
    /// - Parameters:
    ///   - path: the property.
    ///   - name: the field for the date.
    public func changeDate(
        _ path: WritableKeyPath<Entity, Date?> & Sendable, _ name: String = "changeDate"
    ) -> Self {
        with {
            $0.changeDateKey = Accessor(path)
            $0.changeDateName = name
        }
    }

    /// Objects that refer to an object of this type are deleted with it.
    ///
    /// It is `deleteSelf` of CloudKit on each reference to the type: the holder of the reference is deleted with its
    /// target, in cascade, not the other way around.
    public func weak() -> Self { with { $0.isWeak = true } }

    /// The object that a property of this type has when the record refers to none.
    ///
    /// The placeholder is never saved, and a property that holds it is saved as empty.
    public func placeholder(_ placeholder: Entity) -> Self {
        with { $0.placeholder = placeholder }
    }

    /// Excludes objects from syncing, in both directions, while a property is true.
    public func ignore(when path: KeyPath<Entity, Bool> & Sendable) -> Self {
        with { $0.ignores.append { $0[keyPath: path] } }
    }

    func with(_ change: (inout Self) -> Void) -> Self {
        var map = self
        change(&map)
        return map
    }

    /// When the object of a record was changed, in milliseconds; a record without the date was changed
    /// when it was saved.
    func changeMilliseconds(of record: CKRecord) -> Int64? {
        let date: Date? = record[changeDateName]
        return (date ?? record.modificationDate)?.wholeMilliseconds
    }
}
