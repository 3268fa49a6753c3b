import Foundation
import StratusClient
import StratusRecords
import StratusWire

/// The form of fields in the cache's file: the JSON in which the service stores them.
///
/// JSON cannot represent numbers that are not finite, and the service refuses them. An app's
/// resolver may nevertheless set one, and must be able to read it; see ``Field/withoutInfinity``.
enum StoredFields {
    static func encode(_ fields: [Field]) -> Data {
        Data(RecordFields.values(fields.map(\.withoutInfinity)).encoded())
    }

    /// - Throws: ``CacheError`` `damaged` if the bytes cannot be decoded.
    static func decode(_ bytes: UnsafeRawBufferPointer) throws -> [Field] {
        do {
            return try RecordFields.encoded([UInt8](bytes)).values().map(\.withInfinity)
        } catch {
            throw CacheError.damaged(error)
        }
    }
}

extension StoredSystem {
    static func encode(_ system: RecordSnapshot.SystemFields) -> Data {
        Data(StoredSystem(system).bytes)
    }

    /// - Throws: ``CacheError`` `damaged` if the bytes cannot be decoded.
    static func decode(_ bytes: UnsafeRawBufferPointer) throws -> RecordSnapshot.SystemFields {
        let stored: StoredSystem
        do {
            stored = try readWire(from: bytes)
        } catch {
            throw CacheError.damaged(error)
        }
        guard let fields = stored.fields else {
            throw CacheError.damaged(WireError("The bytes of sharing are not Base64."))
        }
        return fields
    }
}

/// Other content of the file, in JSON.
enum StoredJSON {
    /// - Throws: ``CacheError`` `damaged` if the bytes cannot be decoded.
    static func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value {
        do {
            return try JSONDecoder().decode(type, from: data)
        } catch {
            throw CacheError.damaged(error)
        }
    }
}

/// A record's identity in JSON.
protocol StoredIdentity: Codable {
    init(_ id: RecordID)
    var id: RecordID { get }
}

/// A record in JSON, with system fields and fields as in the table of records. The members of its
/// identity are stored beside the others.
struct StoredRecord<Identity: StoredIdentity>: Codable {
    private struct Content: Codable {
        var type: String
        var system: Data?
        var parent: String?
        var fields: Data
    }

    private let identity: Identity
    private let content: Content

    init(_ record: RecordSnapshot) {
        identity = Identity(record.id)
        content = Content(
            type: record.type, system: record.systemData, parent: record.parentRecordName,
            fields: record.fieldsData)
    }

    func snapshot() throws -> RecordSnapshot {
        RecordSnapshot(
            id: identity.id, type: content.type,
            system: try content.system.map { data in
                try data.withUnsafeBytes { try StoredSystem.decode($0) }
            },
            parentRecordName: content.parent,
            fields: try content.fields.withUnsafeBytes { try StoredFields.decode($0) })
    }

    init(from decoder: any Decoder) throws {
        identity = try Identity(from: decoder)
        content = try Content(from: decoder)
    }

    func encode(to encoder: any Encoder) throws {
        try identity.encode(to: encoder)
        try content.encode(to: encoder)
    }
}

extension CacheError {
    /// GRDB's own error would write the content of the whole row to logs.
    static var damagedRow: CacheError {
        damaged(WireError("A row has NULL or a value of another type in one of its columns."))
    }

    /// The error of a number that this app never writes and cannot calculate with.
    static var damagedNumber: CacheError { damaged(WireError("A number is out of range.")) }

    /// The error of content that cannot be read; the next opening starts with a new file.
    static func damaged(_ cause: any Error) -> CacheError {
        CacheError(
            .damaged,
            "The cache's file is damaged. Open the cache again: the damaged file is then moved"
                + " aside.",
            cause: cause)
    }
}
