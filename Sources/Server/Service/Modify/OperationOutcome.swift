import StratusRecords
import StratusSchema
import StratusStorage
import StratusWire

/// The results of a `records/modify` request, kept so that the repeated request changes nothing
/// (``IdempotencyRecord``).
///
/// For each operation: the byte 0 and the record's name for a success, 1 and the item's JSON for a failure, without the
/// stored record that it may contain. The answer has the records as they are at the time of the repeated request.
struct OperationOutcome {
    private enum Item {
        case success(recordName: String)
        case failure([UInt8])
    }

    private let items: [Item]

    init(_ results: [RecordResult], _ recordNames: [String]) {
        items = zip(results, recordNames).map { result, recordName in
            switch result {
            case .failure(var failure):
                // Up to 400 large records could be in one answer; they are stored already.
                failure.serverRecord = nil
                failure.ancestorRecord = nil
                return .failure(wireBytes(of: failure))
            case .record, .deleted: return .success(recordName: recordName)
            }
        }
    }

    var bytes: [UInt8] {
        var writer = ByteWriter()
        for item in items {
            switch item {
            case .success(let name):
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
            items.append(
                try reader.byte() == 0
                    ? .success(recordName: try reader.string()) : .failure(try reader.counted()))
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
            case .success(let name):
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
