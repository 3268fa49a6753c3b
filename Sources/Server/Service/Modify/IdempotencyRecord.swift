import Crypto
import StratusRecords
import StratusSchema
import StratusStorage
import StratusWire

/// A request with a name (`operationID`): when it is repeated, it gets the answer that was kept.
///
/// The stored bytes, with big-endian numbers: the byte 2, a hash of 16 bytes over the request's operations, their
/// number as four bytes, and then what the endpoint keeps of each. Format 1 is without the 16 bytes. Format 3 is the
/// byte alone: the operation was cancelled before it arrived. Format 4 is format 2 with the items that
/// ``OperationOutcome`` writes: earlier releases, which would misread them, refuse it.
struct IdempotencyRecord {
    private static let format: UInt8 = 2
    static let formatWithOmittedNames: UInt8 = 4
    private static let formatOfCancelled: UInt8 = 3
    private static let formatWithoutDigest: UInt8 = 1
    private static let digestBytes = 16
    /// How long the result of an operation is kept for when it is sent again, in seconds: the seven days after which
    /// `CKOperation` gives up. For senders of very many it is less (``OutcomeRoom``).
    static let outcomeSeconds = OutcomeRoom.weekSeconds

    private let key: OperationKey
    private let count: Int
    private let digest: [UInt8]
    private let lifetimeSeconds: Int64
    private let room: OutcomeRoom?
    private let container: ContainerAddress
    /// Pays for what is kept.
    private let work: RequestWork

    /// What distinguishes operations: what is done to which record or zone.
    struct Operation {
        var kind: String
        var zoneName: String?
        var zoneOwner: String?
        /// Nil for zones, and for records that the service names.
        var recordName: String?
    }

    /// Nil when the request has no name.
    ///
    /// - Parameters:
    ///   - signed: the identifier of a signed request, which serves as its name when it has no other. It is valid from
    ///     every device: the same request can only come from the key's holder.
    ///   - prefix: separates the names of one endpoint's requests from another's.
    init?(
        _ operationID: String?, orSigned signed: [UInt8]? = nil,
        of operations: @autoclosure () -> [Operation], in context: RequestContext,
        prefix: String = ""
    ) throws {
        guard let user = context.caller.userRecordName else { return nil }
        work = context.work
        room = context.outcomeRoom
        container = context.address
        guard let operationID else {
            guard let signed else { return nil }
            key = OperationKey(user: user, device: "", operation: Base64.text(signed))
            let operations = operations()
            count = operations.count
            digest = Self.digest(of: operations, prefix)
            lifetimeSeconds = Self.signedSeconds
            return
        }
        key = try Self.key(operationID, of: user, in: context, prefix: prefix)
        let operations = operations()
        count = operations.count
        digest = Self.digest(of: operations, prefix)
        lifetimeSeconds = Self.outcomeSeconds
    }

    private static func key(
        _ operationID: String, of user: String, in context: RequestContext, prefix: String
    ) throws -> OperationKey {
        guard (1...255).contains(operationID.utf8.count) else {
            throw ServiceError.invalid(
                "The operation's identifier is empty or longer than 255 bytes; give it 1 to 255.")
        }
        return OperationKey(
            user: user, device: context.caller.device, operation: prefix + operationID)
    }

    /// Notes that operations of the caller's device must never be carried out, unless they already were.
    ///
    /// - Parameter prefixes: the prefixes of the endpoints to which the operations may belong.
    static func cancel(
        _ operationIDs: [String], prefixes: [String], in writer: any StoreWriter,
        _ context: RequestContext
    ) throws {
        let user = try context.user()
        try writer.deleteOutcomes(expiredAt: context.nowMilliseconds)
        for operationID in operationIDs {
            for prefix in prefixes {
                let key = try key(operationID, of: user, in: context, prefix: prefix)
                guard try writer.outcome(of: key) == nil else { continue }
                let seconds =
                    context.outcomeRoom?.seconds(
                        outcomeSeconds, forBytes: 1, of: key, in: context.address)
                    ?? outcomeSeconds
                try writer.put(
                    outcome: [formatOfCancelled], of: key,
                    expiresMilliseconds: context.nowMilliseconds + seconds * 1_000)
            }
        }
    }

    /// A signature's date may be as far ahead as behind, therefore the factor 2.
    private static let signedSeconds = 2 * RequestSignature.windowMilliseconds / 1_000 + 60

    private static func digest(of operations: [Operation], _ prefix: String) -> [UInt8] {
        var writer = ByteWriter()
        writer.write(prefix)
        for operation in operations {
            writer.write(operation.kind)
            writer.write(operation.zoneName)
            writer.write(operation.zoneOwner)
            writer.write(operation.recordName)
        }
        return Array(SHA256.hash(data: writer.bytes).prefix(digestBytes))
    }

    /// What was kept for each operation, to be read in their order; nil when nothing was.
    ///
    /// - Throws: ``ServiceError`` when it was kept of a different request, or the operation was cancelled;
    ///   ``ByteReader/Malformed`` when the bytes have another version.
    func outcome(in reader: any StoreReader) throws -> ByteReader? {
        guard let bytes = try reader.outcome(of: key) else { return nil }
        var outcome = ByteReader(bytes)
        switch try outcome.byte() {
        case Self.formatWithoutDigest: break
        case Self.formatOfCancelled: throw ServiceError.cancelledOperation
        case Self.format, Self.formatWithOmittedNames:
            guard try outcome.raw(Self.digestBytes) == digest else {
                throw ServiceError.otherOperation
            }
        default: throw ByteReader.Malformed()
        }
        let keptCount: UInt32 = try outcome.number()
        guard Int(keptCount) == count else { throw ServiceError.otherOperation }
        return outcome
    }

    /// What a kept result may have without costing more than the request: a name that the service gave a record.
    private static let freeBytesPerOperation = 48

    /// Keeps the result of each operation, and removes old results.
    func keep(
        _ items: [UInt8], format: UInt8 = Self.format, in writer: any StoreWriter,
        nowMilliseconds: Int64
    ) throws {
        var outcome = ByteWriter()
        outcome.write(format)
        outcome.write(raw: digest)
        outcome.write(number: UInt32(count))
        outcome.write(raw: items)
        let excessBytes = outcome.bytes.count - Self.freeBytesPerOperation * (count + 1)
        if excessBytes > 0 { work.add(outcomeBytes: excessBytes) }
        try writer.deleteOutcomes(expiredAt: nowMilliseconds)
        let seconds =
            room?.seconds(
                lifetimeSeconds, forBytes: outcome.bytes.count, of: key, in: container)
            ?? lifetimeSeconds
        try writer.put(
            outcome: outcome.bytes, of: key,
            expiresMilliseconds: nowMilliseconds + seconds * 1_000)
    }
}

extension ServiceError {
    fileprivate static let otherOperation = invalid(
        "Another request was sent under this operation's identifier; send this one under a new one."
    )

    fileprivate static let cancelledOperation = invalid(
        "The device cancelled this operation before its request came; send it as a new operation.")
}

/// The results of a `records/modify` request, kept so that the repeated request changes nothing
/// (``IdempotencyRecord``).
///
/// For each operation: the byte 2 for a success, 0 and the record's name if the request does not give it, 1 and the
/// item's JSON for a failure, without the stored record that it may contain, and without the name that the request
/// gives. The answer has the records as they are at the time of the repeated request. Before format 4 of the
/// ``IdempotencyRecord``, all names were written.
struct OperationOutcome {
    private enum Item {
        /// The name is nil if the request gives it.
        case success(recordName: String?)
        case failure([UInt8])
    }

    private let items: [Item]

    init(
        _ results: [RecordResult], _ recordNames: [String],
        of operations: [RecordsModify.Operation]
    ) {
        items = zip(zip(results, recordNames), operations).map { item, operation in
            let (result, recordName) = item
            switch result {
            case .failure(var failure):
                // Up to 400 large records could be in one answer; they are stored already.
                failure.serverRecord = nil
                failure.ancestorRecord = nil
                if failure.recordName == operation.record.recordName { failure.recordName = nil }
                return .failure(wireBytes(of: failure))
            case .record, .deleted:
                let isGiven = operation.record.recordName == recordName
                return .success(recordName: isGiven ? nil : recordName)
            }
        }
    }

    var bytes: [UInt8] {
        var writer = ByteWriter()
        for item in items {
            switch item {
            case .success(nil):
                writer.write(2 as UInt8)
            case .success(let name?):
                writer.write(0 as UInt8)
                writer.write(name)
            case .failure(let bytes):
                writer.write(1 as UInt8)
                writer.write(counted: bytes)
            }
        }
        return writer.bytes
    }

    init(_ reader: ByteReader, count: Int) throws(ByteReader.Malformed) {
        var reader = reader
        var items: [Item] = []
        for _ in 0..<count {
            switch try reader.byte() {
            case 0: items.append(.success(recordName: try reader.string()))
            case 1: items.append(.failure(try reader.counted()))
            case 2: items.append(.success(recordName: nil))
            default: throw ByteReader.Malformed()
            }
        }
        self.items = items
    }

    /// The answer to a repeated request. A record that the caller may not read appears without its fields, and in a
    /// conflict not at all.
    func replay(
        _ request: RecordsModify.Request, in reader: any StoreReader, _ context: RequestContext,
        access: RecordAccess
    ) throws -> [RecordResult] {
        let viewer = context.caller.viewer
        return try zip(request.operations, items).map { operation, item in
            let zoneName = context.zoneName(operation.record.zoneID ?? request.zoneID)
            func stored(_ name: String) throws -> RecordRow? {
                guard let zoneName,
                    let zone = try context.livingZone(named: zoneName, reader),
                    let row = try reader.records(named: [name], in: zone.row.key)[name],
                    zone.rights.canRead(row)
                else { return nil }
                return row
            }
            switch item {
            case .failure(let bytes):
                var failure = try readWire(RecordFailure.self, from: bytes)
                failure.recordName = failure.recordName ?? operation.record.recordName
                if failure.error.code == .conflict,
                    let name = failure.recordName, let row = try stored(name), !row.isDeleted,
                    access[row.type].mayRead(row)
                {
                    let zoneID = context.zoneID(zoneName ?? ZoneID.defaultZoneName)
                    failure.serverRecord = RecordDictionary(row, in: zoneID, viewer: viewer)
                    if context.caller.wantsExtensions, let tag = operation.record.recordChangeTag {
                        failure.ancestorRecord = try reader.ancestor(of: row, tagged: tag)
                            .map { RecordDictionary($0, in: zoneID, viewer: viewer) }
                    }
                }
                return .failure(failure)
            case .success(let kept):
                let name = kept ?? operation.record.recordName ?? ""
                let zoneID = context.zoneID(zoneName ?? ZoneID.defaultZoneName)
                let row = try stored(name)
                if operation.kind.isDeletion {
                    // Deleted by the first request, even if another record was saved under the name since.
                    return .deleted(
                        .init(
                            recordName: name,
                            recordType: context.caller.wantsExtensions ? row?.type : nil,
                            zoneID: zoneID,
                            recordChangeTag: context.caller.wantsExtensions
                                && row?.isDeleted == true
                                ? row?.changeTag : nil))
                }
                guard let row, !row.isDeleted else {
                    // Saved by the first request, and deleted since.
                    return .failure(
                        RecordFailure(recordName: name, zoneID: zoneID, error: .recordNotFound))
                }
                let keys = operation.desiredKeys ?? request.desiredKeys
                return try RecordResult(
                    row, in: zoneID, keys: access[row.type].mayRead(row) ? keys : [],
                    numbersAsStrings: operation.numbersAsStrings ?? request.numbersAsStrings,
                    tellsType: context.caller.wantsExtensions, viewer: viewer)
            }
        }
    }
}
