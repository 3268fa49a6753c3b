import StratusRecords
import StratusStorage
import StratusWire

/// What a `zones/modify` request came to, kept so that the same request changes nothing when it
/// comes again (``IdempotencyRecord``): a deletion that is repeated must not take the zone that somebody
/// created since.
///
/// Of each operation: the byte 0 for a success, 1 and the item's JSON for a failure. Zones are answered as
/// they are when the request comes again.
struct ZonesOutcome {
    /// One per operation; nil is a success.
    private let failures: [[UInt8]?]

    init(_ results: [ZoneResult]) {
        failures = results.map { result in
            switch result {
            case .success: nil
            case .failure(let failure): wireBytes(of: failure)
            }
        }
    }

    var bytes: [UInt8] {
        var writer = ByteWriter()
        for failure in failures {
            writer.write(failure == nil ? 0 : 1 as UInt8)
            if let failure { writer.write(counted: failure) }
        }
        return writer.bytes
    }

    init(_ reader: ByteReader, count: Int) throws(ByteReader.Malformed) {
        var reader = reader
        var failures: [[UInt8]?] = []
        for _ in 0..<count {
            failures.append(try reader.byte() == 0 ? nil : try reader.counted())
        }
        self.failures = failures
    }

    /// The answer to a repeated request.
    ///
    /// - Parameter zone: What an operation that succeeded made of its zone; nil when that was deleted since.
    func replay(
        _ request: ZonesModify.Request,
        zone: (ZonesModify.Operation) throws -> ZoneDictionary?
    ) throws -> [ZoneResult] {
        try zip(request.operations, failures).map { operation, failure in
            if let failure { return .failure(try readWire(ZoneFailure.self, from: failure)) }
            guard let zone = try zone(operation) else {
                return .failure(ZoneFailure(zoneID: operation.zoneID, error: .zoneNotFound))
            }
            return .success(zone)
        }
    }
}
