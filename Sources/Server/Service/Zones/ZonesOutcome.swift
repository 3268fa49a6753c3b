import StratusRecords
import StratusStorage
import StratusWire

/// The results of a `zones/modify` request, kept so that the repeated request changes nothing (``IdempotencyRecord``):
/// a repeated deletion must not delete a zone that was created since.
///
/// For each operation: the byte 0 for a success, 1 and the item's JSON for a failure. The answer has the zones as they
/// are at the time of the repeated request.
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

    /// The results that a repeated request gets again, by zone. Operations that failed for the moment have none, such
    /// as one on a file that was damaged: they are carried out now.
    ///
    /// - Parameter zone: Reads the zone of a successful operation; nil when it was deleted since.
    func keptResults(
        _ request: ZonesModify.Request,
        zone: (ZonesModify.Operation) throws -> ZoneDictionary?
    ) throws -> [ZoneIDDictionary: ZoneResult] {
        var kept: [ZoneIDDictionary: ZoneResult] = [:]
        for (operation, bytes) in zip(request.operations, failures) {
            let zoneID = operation.zoneID
            if let bytes {
                let failure = try readWire(ZoneFailure.self, from: bytes)
                if failure.error.mayPass { continue }
                kept[zoneID] = .failure(failure)
            } else if let zone = try zone(operation) {
                kept[zoneID] = .success(zone)
            } else {
                kept[zoneID] = .failure(ZoneFailure(zoneID: zoneID, error: .zoneNotFound))
            }
        }
        return kept
    }
}

extension ServiceError {
    /// Whether the same request may succeed later, because the service or the zone could not take it at the moment.
    fileprivate var mayPass: Bool { code.httpStatus >= 500 || code == .throttled }
}
