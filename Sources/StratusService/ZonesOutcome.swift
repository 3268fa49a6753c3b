import StratusRecords
import StratusStorage
import StratusWire

/// What a `zones/modify` request came to, kept so that its repetition changes nothing: a deletion that
/// is repeated must not take the zone that somebody created since.
///
/// Format 1: the byte 1, the number of operations, then for each: 0 for a success, 1 and the item's JSON
/// for a failure. Zones are answered as they are at the time of the repetition.
struct ZonesOutcome {
    private static let format: UInt8 = 1
    /// One per operation; nil is a success.
    private let failures: [[UInt8]?]

    init(_ results: [ZoneResult]) {
        failures = results.map { result in
            switch result {
            case .zone: nil
            case .failure(let failure): wireBytes(of: failure)
            }
        }
    }

    var bytes: [UInt8] {
        var writer = ByteWriter()
        writer.write(Self.format)
        writer.write(number: UInt32(failures.count))
        for failure in failures {
            writer.write(failure == nil ? 0 : 1 as UInt8)
            if let failure { writer.write(counted: failure) }
        }
        return writer.bytes
    }

    /// - Throws: ``ByteReader/Malformed`` when the bytes are of another version.
    init(bytes: [UInt8]) throws(ByteReader.Malformed) {
        var reader = ByteReader(bytes)
        guard try reader.byte() == Self.format else { throw ByteReader.Malformed() }
        let count: UInt32 = try reader.number()
        var failures: [[UInt8]?] = []
        for _ in 0..<count {
            failures.append(try reader.byte() == 0 ? nil : try reader.counted())
        }
        self.failures = failures
    }

    /// The answer to a repetition.
    ///
    /// - Throws: ``ServiceError`` when the request is another one under the same identifier.
    func replay(
        _ request: ZonesModify.Request, _ names: [String?], in reader: any StoreReader,
        _ context: RequestContext, _ tokens: ChangeTokens
    ) throws -> [ZoneResult] {
        guard request.operations.count == failures.count else {
            throw ServiceError.invalid(
                "Another request was sent under this operation's identifier.")
        }
        var results: [ZoneResult] = []
        for (index, operation) in request.operations.enumerated() {
            if let failure = failures[index] {
                results.append(.failure(try readWire(ZoneFailure.self, from: failure)))
            } else if let name = names[index], operation.kind == .delete {
                results.append(
                    .zone(ZoneDictionary(zoneID: context.zoneID(name), isDeleted: true)))
            } else if let name = names[index], let zone = try reader.livingZone(named: name) {
                results.append(.zone(ZoneDictionary(zone, in: context, tokens: tokens)))
            } else {
                // Created, and deleted since.
                results.append(
                    .failure(ZoneFailure(zoneID: operation.zoneID, error: .zoneNotFound)))
            }
        }
        return results
    }
}
