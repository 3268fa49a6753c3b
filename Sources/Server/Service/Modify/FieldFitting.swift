import StratusRecords
import StratusSchema
import StratusStorage
import StratusWire

/// Fits the fields of one record to the schema, which grows with them in the development environment.
struct FieldFitting {
    private(set) var schema: ContainerSchema
    private(set) var growth: [SchemaFieldRow] = []
    /// The targets of VALIDATE references.
    private(set) var required: [RecordKey] = []
    /// The targets of DELETE_SELF references.
    private(set) var owners: [RecordKey] = []
    /// How many references have an action.
    private(set) var actingReferences = 0
    private let recordType: String
    private let holder: RecordKey
    private let context: RequestContext

    init(
        schema: ContainerSchema, recordType: String, holder: RecordKey, context: RequestContext
    ) {
        self.schema = schema
        self.recordType = recordType
        self.holder = holder
        self.context = context
    }

    /// Adds the record's type to the schema if it is new.
    ///
    /// - Throws: ``ServiceError`` when the container has as many types as it may have.
    mutating func fitType() throws {
        // Every container has the type of shares, even where the schema is fixed.
        let isFixed = context.address.environment != .development
        if isFixed, recordType == ShareDictionary.recordType { return }
        if !schema.hasType(recordType) {
            guard schema.types.count < context.limits.recordTypesPerContainer else {
                throw ServiceError.tooManyRecordTypes(
                    limit: context.limits.recordTypesPerContainer)
            }
            grow(SchemaFieldRow(recordType: recordType, field: nil, type: nil))
            for field in SchemaSystemField.allCases where !field.firstIndexes.isEmpty {
                grow(
                    SchemaFieldRow(recordType: recordType, field, indexes: field.firstIndexes))
            }
        }
    }

    /// The field with its value in the type that the schema declares.
    ///
    /// - Throws: ``ServiceError`` when the value does not fit, or the schema does not take the field.
    mutating func fitted(_ field: Field) throws -> Field {
        guard Names.isIdentifier(field.name) || isShareField(field.name) else {
            throw ServiceError.fieldName(field.name)
        }
        let rule = schema.rule(for: field.name, of: recordType)
        guard rule != nil || context.address.environment == .development else {
            throw ServiceError.unknownField(field.name, of: recordType)
        }
        guard var value = field.value else { return field }
        if field.isEncrypted || rule?.isEncrypted == true {
            value = try encryptable(value, of: field, rule)
            if case .bytes = value, field.isTypeDeclared, rule != nil {
                // A device encrypted the value itself; only devices know the type of its plain text.
                var field = field
                field.value = value
                return field
            }
        }
        var field = field
        field.value = value
        if let rule {
            guard let fitted = value.fitted(to: rule.type, isDeclared: field.isTypeDeclared) else {
                throw ServiceError.expected(rule.type)
            }
            field.value = fitted
        } else if let type = value.type {
            guard
                schema.fieldCount(of: recordType) < context.limits.fieldsPerRecordType
            else {
                throw ServiceError.recordTypeIsFull(
                    recordType, limit: context.limits.fieldsPerRecordType)
            }
            grow(
                SchemaFieldRow(
                    recordType: recordType, field: field.name, type: type,
                    isEncrypted: field.isEncrypted,
                    indexes: field.isEncrypted ? [] : type.firstIndexes))
        }
        field.value = try field.value.map { try resolved($0) }
        field.isTypeDeclared = true
        return field
    }

    /// The value of a field that is, or should be, encrypted.
    ///
    /// - Throws: ``ServiceError`` for what CloudKit refuses (Wire.md, "Encrypted fields").
    private func encryptable(
        _ value: FieldValue, of field: Field, _ rule: ContainerSchema.FieldRule?
    ) throws -> FieldValue {
        if context.scope == .public {
            throw ServiceError.invalid(
                "encrypted fields are not supported in the public database")
        }
        if let rule, rule.isEncrypted != field.isEncrypted {
            throw ServiceError.invalid(
                field.isEncrypted
                    ? "Attempt to save encrypted data in non encrypted field type"
                    : "Attempt to save plain data in encrypted field type")
        }
        if let type = value.type, !type.canBeEncrypted {
            throw ServiceError.invalid("References and assets cannot be encrypted values.")
        }
        // An encrypted value without a declared type is read as the bytes of a ciphertext.
        guard !field.isTypeDeclared, value != .emptyList else { return value }
        guard case .string(let text) = value, let bytes = Base64.bytes(text) else {
            throw ServiceError.invalid("byte values must be base64 encoded")
        }
        if let rule, rule.type != .bytes {
            throw ServiceError.invalid(
                "Invalid value for field '\(field.name)': the value's type is ENCRYPTED_BYTES, "
                    + "the field is defined as ENCRYPTED_\(rule.type.rawValue)")
        }
        return .bytes(bytes)
    }

    private func isShareField(_ name: String) -> Bool {
        recordType == ShareDictionary.recordType && ContainerSchema.shareFields[name] != nil
    }

    /// Adds the zone to references; it must be the record's own.
    private mutating func resolved(_ value: FieldValue) throws -> FieldValue {
        switch value {
        case .reference(let reference): return .reference(try resolved(reference))
        case .referenceList(let references):
            var resolved: [Reference] = []
            for reference in references { resolved.append(try self.resolved(reference)) }
            return .referenceList(resolved)
        default: return value
        }
    }

    private mutating func resolved(_ reference: Reference) throws -> Reference {
        var reference = reference
        guard (1...255).contains(reference.recordName.utf8.count) else {
            throw ServiceError.invalid(
                "The recordName of a reference is empty or longer than 255 bytes; give it 1 to 255."
            )
        }
        if let zoneID = reference.zoneID {
            guard zoneID.name == holder.zoneName, context.isOwner(zoneID.ownerName) else {
                throw ServiceError.invalid(
                    "A reference names another zone than the record's; refer to a record of the same zone."
                )
            }
        }
        reference.zoneID = ZoneID(name: holder.zoneName, ownerName: context.zoneOwner)
        if reference.action != .none { actingReferences += 1 }
        let target = RecordKey(zoneName: holder.zoneName, name: reference.recordName)
        switch reference.action {
        case .none: break
        case .validate: required.append(target)
        case .deleteSelf: owners.append(target)
        }
        return reference
    }

    private mutating func grow(_ row: SchemaFieldRow) {
        schema.add(row)
        growth.append(row)
    }
}

/// The receipts of a modify request, looked up before its transaction.
///
/// A value without a receipt is valid only in the record that it was read from: there it is found by its checksum.
struct AssetClaims: Sendable {
    /// Values as they are stored, by zone and receipt.
    private var values: [Key: AssetReceipt] = [:]

    private struct Key: Hashable {
        var zoneName: String
        var receipt: String
    }

    init() {}

    static func make(
        _ request: RecordsModify.Request, _ keys: [RecordKey?], in context: RequestContext,
        store: any RecordStore, signer: TokenSigner
    ) async throws -> AssetClaims {
        var claims = AssetClaims()
        var wanted: [Key: UploadReceipt] = [:]
        let database = ChangeToken.mark(of: store.address)
        let now = context.nowMilliseconds
        for (operation, key) in zip(request.operations, keys) {
            guard let key, case .values(let fields) = operation.record.fields else { continue }
            for receipt in fields.lazy.flatMap(\.receipts) {
                let key = Key(zoneName: key.zoneName, receipt: receipt)
                guard wanted[key] == nil, let upload = UploadReceipt(text: receipt, signer: signer),
                    upload.databaseMark == database, upload.zoneName == key.zoneName,
                    upload.user == context.caller.userRecordName, now < upload.endMilliseconds
                else { continue }
                wanted[key] = upload
            }
        }
        guard !wanted.isEmpty else { return claims }
        let digests = Set(wanted.values.map(\.sha256))
        let rows = try await store.read { reader in
            try digests.reduce(into: [[UInt8]: AssetRow]()) { $0[$1] = try reader.asset($1) }
        }
        for (key, upload) in wanted {
            guard let row = rows[upload.sha256] else { continue }
            claims.values[key] = AssetReceipt(row, in: store.address, signer: signer)
                .stored(as: row.blob, fileName: upload.fileName)
        }
        return claims
    }

    /// The value that is stored for the one that was sent.
    ///
    /// - Parameter old: The record's fields as they are stored.
    /// - Throws: ``ServiceError`` when the value has no valid receipt and was not in the record before.
    func stored(
        _ value: AssetReceipt, in zoneName: String, old: [UInt8]
    ) throws -> AssetReceipt {
        if let receipt = value.receipt {
            guard let stored = values[Key(zoneName: zoneName, receipt: receipt)] else {
                throw ServiceError.unknownReceipt
            }
            return stored
        }
        guard let checksum = value.fileChecksum, !StoredAssets.blobs(in: old).isEmpty else {
            throw ServiceError.missingReceipt
        }
        let held = try RecordFields.encoded(old).values().lazy.flatMap(\.assets)
        guard let stored = held.first(where: { $0.fileChecksum == checksum }) else {
            throw ServiceError.missingReceipt
        }
        return stored
    }
}

extension Field {
    /// The assets in the field, those of a list in order.
    var assets: [AssetReceipt] { value?.assets ?? [] }

    fileprivate var receipts: [String] { assets.compactMap(\.receipt) }
}

extension RecordDictionary {
    /// Whether the record's fields have assets that can only be identified by what is stored.
    var hasAssetsWithoutReceipt: Bool {
        guard case .values(let fields) = fields else { return false }
        return fields.contains { $0.assets.contains { $0.receipt == nil } }
    }
}
