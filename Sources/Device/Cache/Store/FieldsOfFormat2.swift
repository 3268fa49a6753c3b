import StratusRecords

/// Decodes fields of formats 1 and 2 of the cache's file, only for the migration to format 3.
///
/// A byte 1, then per field its name, a byte of flags (1: encrypted), a byte for the type and the value. System fields:
/// a byte 1, then each in turn; after them, only for a share, its participants and its link. Numbers are little endian,
/// lengths unsigned LEB128, text UTF-8.
struct FieldsOfFormat2 {
    private static let version: UInt8 = 1

    private let bytes: UnsafeRawBufferPointer
    private var offset = 0

    static func fields(_ bytes: UnsafeRawBufferPointer) throws -> [Field] {
        var reader = try FieldsOfFormat2(bytes)
        var fields: [Field] = []
        while reader.offset < bytes.count {
            let name = try reader.string()
            let flags = try reader.byte()
            let value = try reader.value()
            fields.append(Field(name: name, value: value, isEncrypted: flags & 1 != 0))
        }
        return fields
    }

    static func system(_ bytes: UnsafeRawBufferPointer) throws -> RecordSnapshot.SystemFields {
        var reader = try FieldsOfFormat2(bytes)
        var system = RecordSnapshot.SystemFields(
            changeTag: try reader.string(),
            createdMilliseconds: try reader.optional { try $0.int64() },
            creatorRecordName: try reader.optional { try $0.string() },
            modifiedMilliseconds: try reader.optional { try $0.int64() },
            modifierRecordName: try reader.optional { try $0.string() },
            shareRecordName: try reader.optional { try $0.string() })
        if reader.offset < bytes.count { system.sharing = [UInt8](try reader.slice()) }
        return system
    }

    private init(_ bytes: UnsafeRawBufferPointer) throws {
        self.bytes = bytes
        guard try byte() == Self.version else {
            throw CacheError(
                .newerFormat, "A newer version of the app wrote this cache. Update the app.")
        }
    }

    private static var damaged: CacheError {
        CacheError(
            .damaged,
            "A stored record cannot be read. Delete the cache's file; unsent changes in it are lost."
        )
    }

    private mutating func byte() throws -> UInt8 {
        guard offset < bytes.count else { throw Self.damaged }
        defer { offset += 1 }
        return bytes[offset]
    }

    private mutating func length() throws -> Int {
        var result: UInt64 = 0
        var shift: UInt64 = 0
        while true {
            let byte = try byte()
            guard shift < 63 else { throw Self.damaged }
            result |= UInt64(byte & 0x7F) << shift
            if byte & 0x80 == 0 { break }
            shift += 7
        }
        // A length beyond the remaining bytes is damage.
        guard result <= UInt64(bytes.count - offset) else { throw Self.damaged }
        return Int(result)
    }

    private mutating func slice() throws -> UnsafeRawBufferPointer {
        let count = try length()
        defer { offset += count }
        return UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + count])
    }

    private mutating func string() throws -> String {
        String(decoding: try slice(), as: UTF8.self)
    }

    private mutating func int64() throws -> Int64 {
        guard bytes.count - offset >= 8 else { throw Self.damaged }
        defer { offset += 8 }
        return Int64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: Int64.self))
    }

    private mutating func double() throws -> Double {
        Double(bitPattern: UInt64(bitPattern: try int64()))
    }

    private mutating func optional<Value>(
        _ body: (inout FieldsOfFormat2) throws -> Value
    ) throws -> Value? {
        try byte() == 0 ? nil : try body(&self)
    }

    private mutating func list<Value>(
        _ body: (inout FieldsOfFormat2) throws -> Value
    ) throws -> [Value] {
        let count = try length()
        var values: [Value] = []
        values.reserveCapacity(count)
        for _ in 0..<count { values.append(try body(&self)) }
        return values
    }

    private mutating func location() throws -> Location {
        Location(
            latitude: try double(), longitude: try double(),
            horizontalAccuracy: try optional { try $0.double() },
            verticalAccuracy: try optional { try $0.double() },
            altitude: try optional { try $0.double() }, speed: try optional { try $0.double() },
            course: try optional { try $0.double() },
            timestampMilliseconds: try optional { try $0.int64() })
    }

    private mutating func reference() throws -> Reference {
        let recordName = try string()
        guard let action = Reference.Action(rawValue: try string()) else { throw Self.damaged }
        let zoneID = try optional { ZoneID(name: try $0.string(), ownerName: try $0.string()) }
        return Reference(recordName: recordName, zoneID: zoneID, action: action)
    }

    private mutating func receipt() throws -> AssetReceipt {
        AssetReceipt(
            fileChecksum: try optional { try $0.string() },
            sizeBytes: try optional { try $0.int64() },
            referenceChecksum: try optional { try $0.string() },
            wrappingKey: try optional { try $0.string() },
            receipt: try optional { try $0.string() },
            downloadURL: try optional { try $0.string() })
    }

    private mutating func value() throws -> FieldValue {
        switch try byte() {
        case 1: .string(try string())
        case 2: .int64(try int64())
        case 3: .double(try double())
        case 4: .timestamp(milliseconds: try int64())
        case 5: .bytes([UInt8](try slice()))
        case 6: .location(try location())
        case 7: .reference(try reference())
        case 8: .asset(try receipt())
        case 9: .stringList(try list { try $0.string() })
        case 10: .int64List(try list { try $0.int64() })
        case 11: .doubleList(try list { try $0.double() })
        case 12: .timestampList(milliseconds: try list { try $0.int64() })
        case 13: .bytesList(try list { [UInt8](try $0.slice()) })
        case 14: .locationList(try list { try $0.location() })
        case 15: .referenceList(try list { try $0.reference() })
        case 16: .assetList(try list { try $0.receipt() })
        case 17: .emptyList
        default:
            throw CacheError(
                .newerFormat, "A newer version of the app wrote this cache. Update the app.")
        }
    }
}
