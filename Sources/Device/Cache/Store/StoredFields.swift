import Foundation
import StratusRecords
import StratusWire

/// How fields lie in the cache's file: the JSON in which the service stores them.
///
/// JSON knows no number that is not finite, and the service takes none. A resolver of the app may set one
/// all the same, and reads what it set: see ``Field/withoutInfinity``.
enum StoredFields {
    static func encode(_ fields: [Field]) -> Data {
        Data(RecordFields.values(fields.map(\.withoutInfinity)).encoded())
    }

    /// - Throws: ``CacheError`` `damaged` when the bytes are no fields.
    static func decode(_ bytes: UnsafeRawBufferPointer) throws -> [Field] {
        do {
            return try RecordFields.encoded([UInt8](bytes)).values().map(\.withInfinity)
        } catch {
            throw CacheError.unreadableRecord(error)
        }
    }
}

/// What the service says of a record besides its fields, as it lies in the cache's file: JSON too.
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

    /// - Throws: ``CacheError`` `damaged` when the bytes are no system fields.
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
