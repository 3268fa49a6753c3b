import StratusClient

/// A property that is a field of the record.
struct MappedField<Entity: CloudEntity>: Sendable {
    var name: String
    var path: PartialKeyPath<Entity> & Sendable
    /// The field's type in the schema language.
    var schemaType: String
    var isAsset: Bool { schemaType == "ASSET" }
    var read: @Sendable (Entity) -> (any CKRecordValueProtocol)?
    var write: @Sendable (inout Entity, CKRecord) -> Void
    /// Whether this app can read a record's value; true if there is none.
    var isKnown: @Sendable (CKRecord) -> Bool
    /// The property's value when the record has no suitable one.
    var fallback: @Sendable () -> (any CKRecordValueProtocol)?
}
