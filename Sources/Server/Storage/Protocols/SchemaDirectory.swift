import StratusRecords

/// The schemas of the containers, and who has which role in them.
public protocol SchemaDirectory: Sendable {
    /// What a container has in this environment; empty for one that nobody has used.
    func schema(of address: ContainerAddress) async throws -> SchemaRows

    /// Adds types and fields that are not there yet, in one transaction. What is there keeps its type
    /// and its marks; what a type or the container has no room for is left out.
    ///
    /// - Parameter limits: ``Limits/fieldsPerRecordType`` and ``Limits/recordTypesPerContainer``.
    func extendSchema(
        of address: ContainerAddress, with fields: [SchemaFieldRow], limits: Limits
    ) async throws -> SchemaExtension

    /// Puts other types, fields, roles and grants in the place of all that are there; users keep the
    /// roles that remain.
    ///
    /// - Parameter schema: Its version is that of the schema which it replaces.
    /// - Returns: The new version; nil, with nothing changed, when there is another schema by now.
    func replaceSchema(
        of address: ContainerAddress, by schema: SchemaRows
    ) async throws -> Int64?

    /// Gives a user a role or takes it away, and counts that as a change of the schema.
    func setRole(
        _ role: String, of user: String, in address: ContainerAddress, isAssigned: Bool
    ) async throws
}

extension SchemaDirectory {
    /// Adds types and fields within the limits' defaults.
    @discardableResult
    public func extendSchema(
        of address: ContainerAddress, with fields: [SchemaFieldRow]
    ) async throws -> SchemaExtension {
        try await extendSchema(of: address, with: fields, limits: Limits())
    }
}

/// What became of an extension.
public struct SchemaExtension: Hashable, Sendable {
    /// The schema's version before and after: equal when nothing was new.
    public var oldVersion: Int64
    public var version: Int64
    /// The asked rows as they are stored now, in the order of the question; without those that found no
    /// room.
    public var fields: [SchemaFieldRow]

    public init(oldVersion: Int64, version: Int64, fields: [SchemaFieldRow]) {
        self.oldVersion = oldVersion
        self.version = version
        self.fields = fields
    }
}
