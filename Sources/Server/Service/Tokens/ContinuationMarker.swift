import Crypto
import StratusMatching
import StratusQuery
import StratusRecords
import StratusStorage
import StratusWire

/// Where a page of a query ended: the position of its last record, so that records that are added or removed between
/// two pages do not cause others to be repeated or left out. A restart does not matter.
///
/// Format 3, before encryption: the byte 3, 16 bytes that identify the database, 16 for the query, its zone, the caller
/// and the indexes that the position depends on, the numbers of the index and of its stretch as four bytes each, zone
/// name and record name as counted strings, the number of keys as two bytes, and the keys as counted bytes. The text is
/// base64. It is encrypted, since a page may end at a record that the caller may not see.
struct ContinuationMarker: Hashable {
    var database: [UInt8]
    var query: [UInt8]
    var position: QueryPosition

    private static let format: UInt8 = 3
    private static let markBytes = 16

    /// The bytes that identify a caller's query in its markers.
    ///
    /// - Parameter search: Its indexes are part of the mark: after a change of the schema, access paths can have other
    ///   numbers, so that a marker from before would leave out records or repeat them.
    static func mark(
        of request: RecordsQuery.Request, in zoneNames: [String], _ search: RecordSearch,
        _ caller: String?
    ) throws -> [UInt8] {
        var writer = ByteWriter()
        writer.write(counted: wireBytes(of: request.query))
        writer.write(caller)
        if request.zoneID != nil || !request.isZoneWide {
            for name in zoneNames { writer.write(name) }
        }
        writer.write(all: search.positionIndexes) { writer, indexes in
            writer.write(all: indexes) { writer, index in
                writer.write(index.field)
                writer.write(number: Int64(index.kind.rawValue))
                writer.write(index.valueType?.rawValue)
            }
        }
        return Array(SHA256.hash(data: writer.bytes).prefix(markBytes))
    }

    func text(encryptedBy signer: TokenSigner) throws -> String {
        var writer = ByteWriter()
        writer.write(Self.format)
        writer.write(raw: database)
        writer.write(raw: query)
        writer.write(number: UInt32(position.accessPath))
        writer.write(number: UInt32(position.segment))
        writer.write(position.place.zoneName)
        writer.write(position.place.recordName)
        writer.write(number: UInt16(position.place.keys.count))
        for key in position.place.keys { writer.write(counted: key) }
        return Base64.text(try signer.concealed(writer.bytes, for: .continuationMarker))
    }
}

extension ContinuationMarker {
    /// - Parameter keys: how many keys a position of the query has.
    /// - Throws: ``ServiceError`` when the marker is not one of this query in this database.
    init(
        text: String, signer: TokenSigner, database: [UInt8], query: [UInt8], keys: Int
    ) throws {
        let foreign = ServiceError.foreignMarker
        guard let encrypted = Base64.bytes(text),
            let bytes = signer.revealed(encrypted, for: .continuationMarker)
        else { throw foreign }
        do {
            var reader = ByteReader(bytes)
            guard try reader.byte() == Self.format,
                try reader.raw(Self.markBytes) == database,
                try reader.raw(Self.markBytes) == query
            else { throw foreign }
            self.database = database
            self.query = query
            let accessPath: UInt32 = try reader.number()
            let segment: UInt32 = try reader.number()
            position = QueryPosition(
                place: RecordOrder.Place(
                    keys: [], zoneName: try reader.string(), recordName: try reader.string()),
                accessPath: Int(accessPath), segment: Int(segment))
            let count: UInt16 = try reader.number()
            guard Int(count) == keys else { throw foreign }
            for _ in 0..<keys { position.place.keys.append(try reader.counted()) }
        } catch is ByteReader.Malformed {
            // Encrypted by this service but malformed: a format of another version.
            throw foreign
        }
    }
}
