import StratusSchema

extension RequestContext {
    /// What grants allow the caller in the database of the request, by the current schema.
    func recordAccess(by schemas: SchemaCache) async throws -> RecordAccess {
        guard scope == .public else { return .unrestricted }
        return recordAccess(try await schemas.schema(of: address))
    }

    /// What grants allow the caller in the database of the request.
    func recordAccess(_ schema: ContainerSchema) -> RecordAccess {
        if isForAccount, scope == .public, let user = caller.userRecordName {
            return RecordAccess(ofAccount: user)
        }
        return scope == .public
            ? RecordAccess(ofUser: caller.userRecordName, schema: schema) : .unrestricted
    }
}
