import StratusSchema

extension RequestContext {
    /// What grants let the caller do in the database of the request, by today's schema.
    func recordAccess(by schemas: SchemaCache) async throws -> RecordAccess {
        guard scope == .public else { return .unrestricted }
        return recordAccess(try await schemas.schema(of: address))
    }

    /// What grants let the caller do in the database of the request.
    func recordAccess(_ schema: ContainerSchema) -> RecordAccess {
        if isForAccount, scope == .public, let user = caller.userRecordName {
            return RecordAccess(ofAccount: user)
        }
        return scope == .public
            ? RecordAccess(ofUser: caller.userRecordName, schema: schema) : .unrestricted
    }
}
