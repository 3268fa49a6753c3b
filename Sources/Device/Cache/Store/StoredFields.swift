import Foundation
import StratusRecords
import StratusWire

/// The form of fields in the cache's file: the JSON in which the service stores them.
///
/// JSON cannot represent numbers that are not finite, and the service refuses them. An app's
/// resolver may set one all the same, and must be able to read it: see ``Field/withoutInfinity``.
enum StoredFields {
    static func encode(_ fields: [Field]) -> Data {
        Data(RecordFields.values(fields.map(\.withoutInfinity)).encoded())
    }

    /// - Throws: ``CacheError`` `damaged` if the bytes cannot be decoded.
    static func decode(_ bytes: UnsafeRawBufferPointer) throws -> [Field] {
        do {
            return try RecordFields.encoded([UInt8](bytes)).values().map(\.withInfinity)
        } catch {
            throw CacheError.unreadableRecord(error)
        }
    }
}

/// The form of a record's system fields in the cache's file, also JSON.
struct StoredSystem: WireObject {
    var changeTag = ""
    var createdMilliseconds: Int64?
    var creatorRecordName: String?
    var modifiedMilliseconds: Int64?
    var modifierRecordName: String?
    var shareRecordName: String?
    /// Base64.
    var sharing: String?

    mutating func members<C: WireCoder & ~Copyable>(_ coder: inout C) throws(C.Failure) {
        try coder.required("recordChangeTag", &changeTag)
        try coder.optional("created", &createdMilliseconds)
        try coder.optional("createdBy", &creatorRecordName)
        try coder.optional("modified", &modifiedMilliseconds)
        try coder.optional("modifiedBy", &modifierRecordName)
        try coder.optional("shareRecordName", &shareRecordName)
        try coder.optional("sharing", &sharing)
    }

    static func encode(_ system: RecordSnapshot.SystemFields) -> Data {
        var stored = StoredSystem()
        stored.changeTag = system.changeTag
        stored.createdMilliseconds = system.createdMilliseconds
        stored.creatorRecordName = system.creatorRecordName
        stored.modifiedMilliseconds = system.modifiedMilliseconds
        stored.modifierRecordName = system.modifierRecordName
        stored.shareRecordName = system.shareRecordName
        stored.sharing = system.sharing.map(Base64.text)
        var writer = JSONWriter()
        stored.write(to: &writer)
        return Data(writer.finish())
    }

    /// - Throws: ``CacheError`` `damaged` if the bytes cannot be decoded.
    static func decode(_ bytes: UnsafeRawBufferPointer) throws -> RecordSnapshot.SystemFields {
        let stored: StoredSystem
        do {
            stored = try readWire(from: bytes)
        } catch {
            throw CacheError.unreadableRecord(error)
        }
        let sharing = stored.sharing.map { Base64.bytes($0) }
        guard sharing != .some(nil) else {
            throw CacheError.unreadableRecord(
                WireError("The bytes of sharing are not Base64."))
        }
        return RecordSnapshot.SystemFields(
            changeTag: stored.changeTag, createdMilliseconds: stored.createdMilliseconds,
            creatorRecordName: stored.creatorRecordName,
            modifiedMilliseconds: stored.modifiedMilliseconds,
            modifierRecordName: stored.modifierRecordName,
            shareRecordName: stored.shareRecordName,
            sharing: sharing.flatMap { $0 })
    }
}

extension CacheError {
    fileprivate static func unreadableRecord(_ cause: any Error) -> CacheError {
        CacheError(
            .damaged,
            "The cache's file is damaged. Open the cache again: the damaged file is kept aside then.",
            cause: cause)
    }
}
