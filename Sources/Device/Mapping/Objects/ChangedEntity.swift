/// An object that the mapping changed: filled from a record, linked, or removed.
public struct ChangedEntity: Sendable {
    /// The mapped type of the object.
    public var entityType: any CloudEntity.Type
    /// The sync ID of the object, which is the name of its record.
    public var syncID: String
}
