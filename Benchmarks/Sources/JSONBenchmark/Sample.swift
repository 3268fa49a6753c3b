import StratusRecords
import StratusWire

/// 400 journal entries as a busy client sends them, about 150 kB.
enum Sample {
    static func request() -> RecordsModify.Request {
        RecordsModify.Request(
            operations: (0..<400).map { .init(.forceUpdate, record($0)) },
            zoneID: ZoneIDDictionary(zoneName: "List-5be1c0ffee"))
    }

    private static func record(_ number: Int) -> RecordDictionary {
        RecordDictionary(
            recordName: "7F3A9C10-5B2E-4D6F-8A1B-\(100_000_000_000 + number)",
            recordType: "JournalEntry",
            fields: .values([
                Field(name: "title", value: .string("Grüne Äpfel, \"Boskoop\" \(number)")),
                Field(name: "count", value: .int64(Int64(number * 7_919))),
                Field(name: "price", value: .double(Double(number) * 0.37)),
                Field(
                    name: "editedAt",
                    value: .timestamp(milliseconds: 1_748_800_000_000 + Int64(number))),
                Field(
                    name: "list",
                    value: .reference(Reference(recordName: "list-\(number)", action: .deleteSelf))),
            ]))
    }

    /// The same request with the fields of each record as bytes.
    static func encodingFields(of request: RecordsModify.Request) -> RecordsModify.Request {
        var request = request
        for index in request.operations.indices {
            let fields = request.operations[index].record.fields
            request.operations[index].record.fields = .encoded(fields.encoded())
        }
        return request
    }
}

/// The same shape for Foundation's coders; fewer checks, no tolerance.
struct CodableRequest: Codable {
    struct Zone: Codable { var zoneName: String }
    struct Operation: Codable {
        var operationType: String
        var record: Record
    }
    struct Record: Codable {
        var recordName: String
        var recordType: String
        var fields: [String: Value]
    }
    struct Reference: Codable {
        var recordName: String
        var action: String
    }

    /// A value by its type tag.
    enum Value: Codable {
        case string(String)
        case int64(Int64, String)
        case double(Double)
        case reference(Reference)

        enum Keys: String, CodingKey { case value, type }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: Keys.self)
            let type = try container.decode(String.self, forKey: .type)
            switch type {
            case "STRING": self = .string(try container.decode(String.self, forKey: .value))
            case "DOUBLE": self = .double(try container.decode(Double.self, forKey: .value))
            case "REFERENCE":
                self = .reference(try container.decode(Reference.self, forKey: .value))
            default: self = .int64(try container.decode(Int64.self, forKey: .value), type)
            }
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: Keys.self)
            switch self {
            case .string(let value):
                try container.encode(value, forKey: .value)
                try container.encode("STRING", forKey: .type)
            case .int64(let value, let type):
                try container.encode(value, forKey: .value)
                try container.encode(type, forKey: .type)
            case .double(let value):
                try container.encode(value, forKey: .value)
                try container.encode("DOUBLE", forKey: .type)
            case .reference(let value):
                try container.encode(value, forKey: .value)
                try container.encode("REFERENCE", forKey: .type)
            }
        }
    }

    var operations: [Operation]
    var zoneID: Zone
    var atomic: Bool
}
