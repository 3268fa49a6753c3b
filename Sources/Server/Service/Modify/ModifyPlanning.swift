import StratusRecords
import StratusRuntime
import StratusSchema
import StratusStorage
import StratusWire

/// Checks operations one after the other and collects the fields that they add to the schema.
struct ModifyPlanning {
    let request: RecordsModify.Request
    let context: RequestContext
    /// What the caller may do in the database.
    let access: RecordAccess
    /// The container's schema with ``growth``.
    private(set) var schema: ContainerSchema
    /// Types and fields that valid operations add; only in the development environment.
    private(set) var growth: [SchemaFieldRow] = []
    private let stored: [RecordKey: RecordRow]
    private let assets: AssetClaims
    /// The caller, when shares are saved.
    let person: ParticipantIdentity?
    /// Makes the short GUIDs of new links.
    let world: World

    init(
        request: RecordsModify.Request, context: RequestContext, schema: ContainerSchema,
        stored: [RecordKey: RecordRow], assets: AssetClaims, person: ParticipantIdentity?,
        world: World
    ) {
        self.request = request
        self.context = context
        self.schema = schema
        access = context.recordAccess(schema)
        self.stored = stored
        self.assets = assets
        self.person = person
        self.world = world
    }

    mutating func item(_ operation: RecordsModify.Operation, _ key: RecordKey?) -> ModifyPlan.Item {
        guard let key else {
            let failure = RecordFailure(
                recordName: operation.record.recordName
                    ?? (operation.kind == .create ? world.newUUID() : nil),
                zoneID: operation.record.zoneID ?? request.zoneID, error: .zoneNotFound)
            return .refused(failure, zoneName: nil)
        }
        let error: ServiceError
        do {
            return .ready(try planned(operation, key))
        } catch let refusal as ServiceError {
            error = refusal
        } catch let malformed as WireError {
            error = .invalid(malformed)
        } catch {
            // Nothing else is thrown below. If something were, the operation must not count as done.
            return .refused(
                RecordFailure(
                    recordName: key.name, zoneID: context.zoneID(key.zoneName),
                    error: ServiceError(
                        .internalError, "The service failed on this operation; try again.")),
                zoneName: key.zoneName)
        }
        let failure = RecordFailure(
            recordName: key.name.isEmpty ? nil : key.name, zoneID: context.zoneID(key.zoneName),
            error: error)
        return .refused(failure, zoneName: key.zoneName)
    }

    private mutating func planned(
        _ operation: RecordsModify.Operation, _ key: RecordKey
    ) throws -> PlannedOperation {
        let record = operation.record
        if UsersRecord.isName(key.name) {
            if let error = UsersRecord.refusal(
                of: operation.kind.isDeletion ? .deletion : .save, key: key,
                type: record.recordType, in: context)
            {
                throw error
            }
        } else if !Names.isRecordName(key.name) {
            throw ServiceError.badRecordName
        }
        if let malformed = operation.malformedFields { throw malformed }
        var planned = PlannedOperation(
            kind: operation.kind, key: key, recordType: record.recordType, isTypeDeclared: true,
            changeTag: record.recordChangeTag, changes: [], content: PlannedOperation.Content([]),
            parentChange: .absent, assets: [],
            required: [], desiredKeys: operation.desiredKeys ?? request.desiredKeys,
            numbersAsStrings: operation.numbersAsStrings ?? request.numbersAsStrings)
        guard !operation.kind.isDeletion else { return planned }
        if planned.recordType == nil {
            guard operation.kind != .create else {
                throw ServiceError.invalid("The record has no type; name it in recordType.")
            }
            planned.recordType = stored[key]?.type
            planned.isTypeDeclared = false
        }
        // Without a type there is no such record: the transaction refuses it.
        guard let recordType = planned.recordType else { return planned }
        if !UsersRecord.isName(key.name) {
            try checkType(recordType)
            try checkAccess(to: key, type: recordType, isCreation: operation.kind == .create)
        }
        try planSharing(of: record, type: recordType, into: &planned)
        planned.parentChange = record.parentRecordName
        if case .some(let name) = planned.parentChange {
            guard Names.isRecordName(name), name != key.name else {
                throw ServiceError.invalid(
                    "The parent is not another record's name; name a record of the same zone.")
            }
            // A caller who replaces the record need not see the parent that it had before.
            if planned.kind != .replace || stored[key]?.parent != name {
                planned.required.append(RecordKey(zoneName: key.zoneName, name: name))
            }
        }
        try planFields(of: record, type: recordType, into: &planned)
        return planned
    }

    /// Refuses before the transaction what the transaction would refuse, so that it leaves no types or fields behind.
    private func checkAccess(to key: RecordKey, type: String, isCreation: Bool) throws {
        if let row = stored[key] {
            guard access[row.type].mayWrite(row) else { throw ServiceError.writeNotPermitted }
        } else if isCreation, !access[type].mayCreate {
            throw ServiceError.createNotPermitted
        }
    }

    private func checkType(_ recordType: String) throws {
        if recordType == ShareDictionary.recordType { return }
        guard Names.isIdentifier(recordType) else {
            throw ServiceError.recordTypeName(recordType)
        }
        // Operations on a user's own record do not get here with another type.
        guard recordType != UsersRecord.type else {
            throw ServiceError.invalid(
                "The service makes the records of the type Users; save records of another type.")
        }
        guard context.address.environment == .development || schema.hasType(recordType) else {
            throw ServiceError.unknownRecordType(recordType)
        }
    }

    /// Replaces the assets that were sent by those that are stored.
    ///
    /// A missing or invalid receipt is reported only if the record could be saved otherwise: a stale copy of the record
    /// has a stale asset, and the right error for that is the conflict.
    private func planAssets(into planned: inout PlannedOperation) throws {
        let count = planned.changes.reduce(0) { $0 + $1.assets.count }
        guard count > 0 else { return }
        guard count <= context.limits.assetsPerRecord else {
            throw ServiceError.tooManyAssets(limit: context.limits.assetsPerRecord)
        }
        let old = stored[planned.key]?.payload ?? []
        func resolved(_ value: AssetReceipt) -> AssetReceipt {
            do {
                return try assets.stored(value, in: planned.key.zoneName, old: old)
            } catch {
                planned.assetRefusal = error as? ServiceError ?? .missingReceipt
                return AssetReceipt()
            }
        }
        for index in planned.changes.indices {
            switch planned.changes[index].value {
            case .asset(let asset): planned.changes[index].value = .asset(resolved(asset))
            case .assetList(let list):
                planned.changes[index].value = .assetList(list.map(resolved))
            default: continue
            }
        }
        planned.assets = planned.changes.flatMap(\.assets)
            .compactMap { $0.receipt.flatMap(StoredAssets.blob) }
    }

    private mutating func planFields(
        of record: RecordDictionary, type recordType: String, into planned: inout PlannedOperation
    ) throws {
        let sent = try record.fields.values()
        guard sent.count <= context.limits.fieldsPerRecord else {
            throw ServiceError.tooManyFields(limit: context.limits.fieldsPerRecord)
        }
        var names: Set<String> = []
        if let twice = sent.first(where: { !names.insert($0.name).inserted }) {
            throw ServiceError.invalid(
                "The field '\(twice.name.prefix(255))' of the record is named twice; name it once.")
        }
        // Kept apart until all fields are valid, so that a refused record adds no fields.
        var fitting = FieldFitting(
            schema: schema, recordType: recordType, holder: planned.key, context: context)
        try fitting.fitType()
        for field in sent {
            planned.changes.append(try fitting.fitted(field))
        }
        guard fitting.actingReferences <= context.limits.referencesPerRecord else {
            throw ServiceError.tooManyReferences(limit: context.limits.referencesPerRecord)
        }
        try planAssets(into: &planned)
        planned.required +=
            planned.kind == .replace
            ? new(.validate, to: fitting.required, of: planned.key) : fitting.required
        planned.required += new(.deleteSelf, to: fitting.owners, of: planned.key)
        let values = planned.changes.filter { $0.value != nil }
        planned.content = PlannedOperation.Content(values)
        if !planned.kind.isReplacement, planned.kind != .create, let row = stored[planned.key] {
            let content = try PlannedOperation.merge(
                row.payload, with: planned.changes, limits: context.limits)
            planned.merged = (row.changeTag, content)
        }
        let sizeBytes = max(
            planned.content.payload.count, planned.merged?.content.payload.count ?? 0)
        guard sizeBytes <= context.limits.recordBytes else {
            throw ServiceError.recordTooLarge(limitBytes: context.limits.recordBytes)
        }
        schema = fitting.schema
        growth += fitting.growth
    }

    /// The targets to which the record had no such reference before: they must exist. A reference that an
    /// earlier release stored without its target can be saved again.
    private func new(
        _ action: ReferenceRow.Action, to targets: [RecordKey], of holder: RecordKey
    ) -> [RecordKey] {
        guard !targets.isEmpty, let row = stored[holder] else { return targets }
        // A stored record that cannot be read counts as having none: then all targets must exist. Else the save is
        // refused, and the caller learns of it.
        guard let old = try? ActingReference.all(in: row.payload) else { return targets }
        return targets.filter {
            !old.contains(ActingReference(target: $0.name, action: action))
        }
    }
}

extension ModifyPlanning {
    /// Checks the sharing data of an operation. The transaction decides whether the record to share exists and may be
    /// shared.
    func planSharing(
        of record: RecordDictionary, type recordType: String, into planned: inout PlannedOperation
    ) throws {
        let isShare = recordType == ShareDictionary.recordType
        guard isShare == (planned.key.name == ShareDictionary.zoneShareName) || isShare else {
            throw ServiceError.invalid(
                "The record's name is reserved for the share of a zone; use another name.")
        }
        guard isShare || record.createShortGUID else { return }
        guard context.scope != .public else {
            throw ServiceError.wrongDatabase(
                "The public database has no shares; share records of the private database.")
        }
        // A participant cannot create links; the transaction decides who may change a share.
        let isOwner = context.scope == .private
        guard isOwner || isShare && planned.kind != .create else { throw ServiceError.notPermitted }
        guard planned.key.zoneName != ZoneID.defaultZoneName else {
            throw ServiceError.invalid(
                "A record of the default zone cannot be shared; use a custom zone.")
        }
        if isOwner, !isShare || planned.kind == .create || planned.kind.isForced {
            planned.shortGUID = world.newShortGUID()
        }
        guard isShare else { return }
        let wanted = record.share ?? ShareDictionary()
        let isZoneShare = planned.key.name == ShareDictionary.zoneShareName
        if let root = wanted.root {
            guard !isZoneShare, Names.isRecordName(root.recordName),
                root.recordName != planned.key.name
            else { throw ServiceError.shareWithoutRoot }
            planned.required.append(
                RecordKey(zoneName: planned.key.zoneName, name: root.recordName))
        } else if planned.kind == .create, !isZoneShare {
            throw ServiceError.shareWithoutRoot
        }
        if case .some = record.parentRecordName {
            throw ServiceError.invalid(
                "The share has a parent, which no share can have; leave it out.")
        }
        planned.share = PlannedShare(wanted: wanted, person: person)
    }
}
