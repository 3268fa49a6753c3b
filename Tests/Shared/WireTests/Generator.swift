import StratusRecords
import StratusWire

/// Random values from a seed: the same seed gives the same values.
struct Generator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    /// SplitMix64.
    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }

    mutating func bool() -> Bool { next() & 1 == 1 }

    mutating func maybe<Value>(_ make: (inout Generator) -> Value) -> Value? {
        bool() ? make(&self) : nil
    }

    mutating func list<Value>(_ bound: Int, _ make: (inout Generator) -> Value) -> [Value] {
        (0..<below(bound)).map { _ in make(&self) }
    }

    mutating func string() -> String {
        let alphabet: [Character] = [
            "a", "b", "Z", "0", "_", " ", "\"", "\\", "/", "\n", "\u{0}", "\u{1F}", "ü", "€", "😀",
            "\u{2028}", "e\u{301}", "\u{FFFF}",
        ]
        return String((0..<below(24)).map { _ in alphabet[below(alphabet.count)] })
    }

    mutating func int64() -> Int64 {
        let number = Int64(bitPattern: next())
        return number >> Int64(below(64))
    }

    mutating func double() -> Double {
        let number = Double(bitPattern: next())
        return number.isFinite ? number : Double(below(1000)) / 8
    }

    mutating func bytes() -> [UInt8] { list(40) { UInt8(truncatingIfNeeded: $0.next()) } }

    mutating func location() -> Location {
        Location(
            latitude: double(), longitude: double(), horizontalAccuracy: maybe { $0.double() },
            altitude: maybe { $0.double() }, course: maybe { $0.double() },
            timestampMilliseconds: maybe { $0.int64() })
    }

    mutating func reference() -> Reference {
        let actions: [Reference.Action] = [.none, .deleteSelf, .validate]
        return Reference(
            recordName: string(),
            zoneID: maybe { ZoneID(name: $0.string(), ownerName: $0.string()) },
            action: actions[below(3)])
    }

    mutating func asset() -> AssetReceipt {
        AssetReceipt(
            fileChecksum: string(), sizeBytes: maybe { $0.int64() },
            wrappingKey: maybe { $0.string() }, receipt: maybe { $0.string() })
    }

    mutating func value() -> FieldValue {
        switch below(16) {
        case 0: .string(string())
        case 1: .int64(int64())
        case 2: .double(double())
        case 3: .timestamp(milliseconds: int64())
        case 4: .bytes(bytes())
        case 5: .location(location())
        case 6: .reference(reference())
        case 7: .asset(asset())
        case 8: .stringList(list(5) { $0.string() })
        case 9: .int64List(list(5) { $0.int64() })
        case 10: .doubleList(list(5) { $0.double() })
        case 11: .timestampList(milliseconds: list(5) { $0.int64() })
        case 12: .bytesList(list(5) { $0.bytes() })
        case 13: .locationList(list(3) { $0.location() })
        case 14: .referenceList(list(3) { $0.reference() })
        default: .assetList(list(3) { $0.asset() })
        }
    }

    mutating func fields() -> RecordFields {
        let count = below(20)
        return .values(
            (0..<count).map { index in
                Field(name: "\(index)." + string(), value: value(), isEncrypted: bool())
            })
    }

    mutating func zoneID() -> ZoneIDDictionary {
        ZoneIDDictionary(zoneName: string(), ownerRecordName: maybe { $0.string() })
    }

    mutating func record() -> RecordDictionary {
        RecordDictionary(
            recordName: maybe { $0.string() }, recordType: maybe { $0.string() },
            recordChangeTag: maybe { $0.string() }, fields: fields(), zoneID: maybe { $0.zoneID() },
            parentRecordName: bool() ? .absent : .some(string()), shortGUID: maybe { $0.string() })
    }

    mutating func modify() -> RecordsModify.Request {
        RecordsModify.Request(
            operations: list(6) { generator in
                let kinds = RecordsModify.Kind.allCases
                return .init(
                    kinds[generator.below(kinds.count)], generator.record(),
                    desiredKeys: generator.maybe { $0.list(4) { $0.string() } })
            },
            zoneID: maybe { $0.zoneID() }, isAtomic: bool(), numbersAsStrings: bool(),
            operationID: maybe { $0.string() })
    }

    mutating func result() -> RecordResult {
        switch below(3) {
        case 0:
            var record = record()
            let stamp = RecordDictionary.Stamp(
                timestampMilliseconds: int64(), userRecordName: string(), deviceID: string())
            record.created = stamp
            record.modified = maybe { _ in stamp }
            return .record(record)
        case 1:
            return .deleted(.init(recordName: string(), recordType: maybe { $0.string() }))
        default:
            return .failure(
                RecordFailure(
                    recordName: string(),
                    error: ServiceError(
                        .init(rawValue: string()), string(),
                        retryAfterSeconds: maybe { $0.double() }),
                    serverRecord: maybe { $0.record() }))
        }
    }

    mutating func answer() -> RecordsQuery.Answer {
        RecordsQuery.Answer(
            records: list(6) { $0.result() }, continuationMarker: maybe { $0.string() })
    }
}
