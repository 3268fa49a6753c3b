import StratusRecords

/// The schemas of the containers, and who has which role in them.
public protocol SchemaDirectory: Sendable {
    /// The schema of a container in one environment; empty when there is none.
    func schema(of address: ContainerAddress) async throws -> SchemaRows

    /// Adds types and fields that do not exist yet, in one transaction. Existing fields keep their type and
    /// index marks; what exceeds the limits is left out.
    ///
    /// - Parameters:
    ///   - address: The container and its environment.
    ///   - fields: The fields, each with its type.
    ///   - limits: `fieldsPerRecordType` and `recordTypesPerContainer` count.
    func extendSchema(
        of address: ContainerAddress, with fields: [SchemaFieldRow], limits: Limits
    ) async throws -> SchemaExtension

    /// Replaces all types, fields, roles and grants; users keep those of their roles that remain.
    ///
    /// - Parameters:
    ///   - address: The container and its environment.
    ///   - schema: Its version is that of the schema which it replaces.
    /// - Returns: The new version; nil, with nothing changed, when the schema has changed meanwhile.
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

/// The outcome of extending a schema.
public struct SchemaExtension: Hashable, Sendable {
    /// The requested rows as they are stored now, in the order of the request; without those that exceeded
    /// the limits.
    public var fields: [SchemaFieldRow]
    /// The schema's version before the extension.
    public var oldVersion: Int64
    /// The schema's version after the extension: one more than ``oldVersion``, or equal when nothing was new.
    public var version: Int64

    /// Makes the outcome of an extension.
    public init(oldVersion: Int64, version: Int64, fields: [SchemaFieldRow]) {
        self.oldVersion = oldVersion
        self.version = version
        self.fields = fields
    }
}
