import Crypto
import StratusRecords
import StratusStorage
import StratusWire

/// Where a page of a query ended: the position of its last record, so that records which come or go
/// between two pages neither repeat nor hide others, and a restart changes nothing.
///
/// Format 1, before sealing: the byte 1, 16 bytes that stand for the database, 16 for the query, zone
/// name and record name as counted strings, and the sort keys as the counted bytes of a JSON object
/// of fields named by their index. The text is base64.
struct ContinuationMarker: Hashable {
    var database: [UInt8]
    var query: [UInt8]
    var position: RecordOrder.Position

    private static let format: UInt8 = 1
    private static let markBytes = 16

    /// What stands for a query in its markers.
    static func mark(of request: RecordsQuery.Request, in zoneNames: [String]) throws -> [UInt8] {
        var writer = ByteWriter()
        writer.write(counted: wireBytes(of: request.query))
        if request.zoneID != nil || !request.isZoneWide {
            for name in zoneNames { writer.write(name) }
        }
        return Array(SHA256.hash(data: writer.bytes).prefix(markBytes))
    }

    func text(sealedBy seal: Seal) throws -> String {
        let fields = position.keys.enumerated().map { Field(name: "k\($0)", value: $1) }
        var writer = ByteWriter()
        writer.write(Self.format)
        writer.write(raw: database)
        writer.write(raw: query)
        writer.write(position.zoneName)
        writer.write(position.recordName)
        writer.write(
            counted: RecordFields.values(fields.filter { $0.value != nil }).encoded())
        return Base64.text(seal.sealed(writer.bytes, for: .continuationMarker))
    }
}

extension ContinuationMarker {
    /// - Throws: ``ServiceError`` when the marker is not one of this query in this database.
    init(
        text: String, seal: Seal, database: [UInt8], query: [UInt8], sortKeys: Int
    ) throws {
        let foreign = ServiceError.invalid(
            "The continuation marker belongs to another query; start from the beginning.")
        guard let sealed = Base64.bytes(text),
            let bytes = seal.opened(sealed, for: .continuationMarker)
        else { throw foreign }
        do {
            var reader = ByteReader(bytes)
            guard try reader.byte() == Self.format,
                try reader.raw(Self.markBytes) == database,
                try reader.raw(Self.markBytes) == query
            else { throw foreign }
            self.database = database
            self.query = query
            let zoneName = try reader.string()
            let recordName = try reader.string()
            let fields = try RecordFields.encoded(try reader.counted()).values()
            position = RecordOrder.Position(
                keys: (0..<sortKeys).map { index in
                    fields.first { $0.name == "k\(index)" }?.value
                },
                zoneName: zoneName, recordName: recordName)
        } catch is ByteReader.Malformed {
            // Sealed by us yet malformed: a format of another version.
            throw foreign
        }
    }
}
