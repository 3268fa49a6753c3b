import StratusRecords
import StratusStorage
import StratusWire

/// An operation after everything that can be checked without the stored record.
struct PreparedOperation: Sendable {
    var target: RecordTarget
    var kind: RecordsModify.Kind
    /// Nil where the stored record has it.
    var recordType: String?
    var changeTag: String?
    /// Values as the schema has them; nil clears a field.
    var fields: [Field] = []
    /// The fields as stored bytes; only where nothing has to be merged.
    var payload: [UInt8]?
    var parent: RecordDictionary.ParentChange = .absent
    /// Names of records that must exist: the parent and what VALIDATE references name.
    var requiredNames: [String] = []
    var desiredKeys: [String]?
    /// Why the operation cannot succeed.
    var error: ServiceError?
}

/// Checks and normalises operations before the transaction: names, types, sizes.
struct RecordPreparation {
    let context: RequestContext
    let store: any RecordStore

    func prepare(
        _ request: RecordsModify.Request, _ targets: [RecordTarget]
    ) async throws -> [PreparedOperation] {
        let types = try await recordTypes(request, targets)
        var prepared = zip(request.operations, targets).map { operation, target in
            var prepared = PreparedOperation(
                target: target, kind: operation.kind,
                recordType: operation.record.recordType ?? types[target],
                changeTag: operation.record.recordChangeTag,
                parent: operation.record.parentRecordName,
                desiredKeys: operation.desiredKeys ?? request.desiredKeys)
            prepared.error = checkNames(prepared, operation)
            return prepared
        }
        let fields = try request.operations.map { operation in
            operation.kind.isDeletion ? [] : try operation.record.fields.values()
        }
        let schema = try await schema(for: prepared, fields)
        for index in prepared.indices where prepared[index].error == nil {
            do {
                try fit(fields[index], into: &prepared[index], schema)
            } catch let error as ServiceError {
                prepared[index].error = error
            }
        }
        return prepared
    }

    /// The types of stored records whose operations do not say theirs.
    private func recordTypes(
        _ request: RecordsModify.Request, _ targets: [RecordTarget]
    ) async throws -> [RecordTarget: String] {
        let untyped = zip(request.operations, targets)
            .filter { $0.0.record.recordType == nil && !$0.0.kind.isDeletion }.map(\.1)
        guard !untyped.isEmpty else { return [:] }
        return try await store.read { reader in
            var types: [RecordTarget: String] = [:]
            for (zoneName, targets) in Dictionary(grouping: untyped, by: \.zoneName) {
                guard let zoneName, let zone = try reader.livingZone(named: zoneName) else {
                    continue
                }
                let rows = try reader.records(named: targets.map(\.recordName), in: zone.key)
                for target in targets { types[target] = rows[target.recordName]?.type }
            }
            return types
        }
    }

    private func checkNames(
        _ prepared: PreparedOperation, _ operation: RecordsModify.Operation
    ) -> ServiceError? {
        if prepared.target.zoneName == nil { return .zoneNotFound }
        guard Names.isRecordName(prepared.target.recordName) else {
            return .invalid(
                "A record's name has 1 to 255 ASCII characters and no leading underscore.")
        }
        if operation.kind.isDeletion { return nil }
        guard let type = prepared.recordType else {
            switch operation.kind {
            case .update, .replace: return .recordNotFound
            default: return .invalid("Name the record's type.")
            }
        }
        if type == "cloudkit.share" { return .invalid("Sharing is not served yet.") }
        guard Names.isIdentifier(type), type != "Users" else {
            return .invalid(
                "A record type is a letter followed by letters, digits and underscores, and not Users."
            )
        }
        return nil
    }

    // MARK: Schema

    /// The schema with everything that the operations bring; in production it never grows.
    private func schema(
        for prepared: [PreparedOperation], _ fields: [[Field]]
    ) async throws -> ContainerSchema {
        let service = context.service
        let schema = try await service.schemas.schema(of: context.address)
        guard context.address.environment == .development else { return schema }
        var additions = Set<SchemaFieldRow>()
        for (operation, fields) in zip(prepared, fields) where operation.error == nil {
            guard let type = operation.recordType, !operation.kind.isDeletion else { continue }
            if !schema.hasType(type) {
                additions.insert(SchemaFieldRow(recordType: type, field: nil, type: nil))
            }
            for field in fields where schema.rule(for: field.name, of: type) == nil {
                guard let valueType = field.value?.type, Names.isIdentifier(field.name),
                    valueType != .asset, valueType != .assetList
                else { continue }
                additions.insert(
                    SchemaFieldRow(
                        recordType: type, field: field.name, type: valueType,
                        isEncrypted: field.isEncrypted))
            }
        }
        guard !additions.isEmpty else { return schema }
        let ordered = additions.sorted {
            ($0.recordType, $0.field ?? "", $0.type?.rawValue ?? "")
                < ($1.recordType, $1.field ?? "", $1.type?.rawValue ?? "")
        }
        return try await service.schemas.extend(context.address, with: ordered)
    }

    // MARK: Values

    private func fit(
        _ fields: [Field], into prepared: inout PreparedOperation, _ schema: ContainerSchema
    ) throws {
        guard let type = prepared.recordType, !prepared.kind.isDeletion else { return }
        guard schema.hasType(type) else {
            throw ServiceError.invalid("The schema has no such record type.")
        }
        guard fields.count <= context.limits.fieldsPerRecord else {
            throw ServiceError.overLimit("The record has more fields than a record may have.")
        }
        prepared.fields = try fields.map { try fit($0, of: type, &prepared, schema) }
        if case .some(let parent) = prepared.parent { prepared.requiredNames.append(parent) }
        switch prepared.kind {
        case .create, .replace, .forceReplace:
            let present = prepared.fields.filter { $0.value != nil }
            prepared.payload = RecordFields.values(present).encoded()
            try checkSize(prepared.payload)
        case .update, .forceUpdate, .delete, .forceDelete: break
        }
    }

    private func fit(
        _ field: Field, of type: String, _ prepared: inout PreparedOperation,
        _ schema: ContainerSchema
    ) throws -> Field {
        guard Names.isIdentifier(field.name) else {
            throw ServiceError.invalid(
                "A field's name is a letter followed by letters, digits and underscores.")
        }
        guard var value = field.value else { return field }
        if let rule = schema.rule(for: field.name, of: type) {
            guard let fitted = value.fitted(to: rule.type, isDeclared: field.isTypeDeclared) else {
                throw ServiceError.expected(rule.type)
            }
            value = fitted
            try checkEncryption(field, rule)
        } else if value != .emptyList, !isAsset(value) {
            throw ServiceError.invalid("The schema has no such field in this record type.")
        }
        if isAsset(value) { throw ServiceError.invalid("Assets are not served yet.") }
        value = try inZone(value, &prepared)
        var field = field
        field.value = value
        return field
    }

    private func isAsset(_ value: FieldValue) -> Bool {
        value.type == .asset || value.type == .assetList
    }

    private func checkEncryption(_ field: Field, _ rule: ContainerSchema.FieldRule) throws {
        if field.isEncrypted, context.scope == .public {
            throw ServiceError.invalid("encrypted fields are not supported in the public database")
        }
        guard field.isEncrypted == rule.isEncrypted else {
            throw ServiceError.invalid(
                "Attempt to save encrypted data in non encrypted field type")
        }
    }

    /// References point within their zone; answers say which zone that is.
    private func inZone(
        _ value: FieldValue, _ prepared: inout PreparedOperation
    ) throws -> FieldValue {
        guard let zoneName = prepared.target.zoneName else { return value }
        let zoneID = ZoneID(name: zoneName, ownerName: context.zoneOwner)
        func complete(_ reference: Reference) throws -> Reference {
            if let named = reference.zoneID, named.name != zoneName {
                throw ServiceError.invalid("A reference must point to a record of the same zone.")
            }
            if reference.action == .validate {
                prepared.requiredNames.append(reference.recordName)
            }
            var reference = reference
            reference.zoneID = zoneID
            return reference
        }
        switch value {
        case .reference(let reference): return .reference(try complete(reference))
        case .referenceList(let references): return .referenceList(try references.map(complete))
        default: return value
        }
    }

    private func checkSize(_ payload: [UInt8]?) throws {
        if let payload, payload.count > context.limits.recordBytes {
            throw ServiceError.recordTooLarge
        }
    }
}
