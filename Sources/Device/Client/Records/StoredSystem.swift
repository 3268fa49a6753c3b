import StratusRecords
import StratusWire

/// The form of a record's system fields in the cache's file, JSON.
package struct StoredSystem: WireObject {
    var changeTag = ""
    var createdMilliseconds: Int64?
    var creatorRecordName: String?
    var modifiedMilliseconds: Int64?
    var modifierRecordName: String?
    var shareRecordName: String?
    /// Base64.
    var sharing: String?

    package mutating func members<C: WireCoder & ~Copyable>(_ coder: inout C) throws(C.Failure) {
        try coder.required("recordChangeTag", &changeTag)
        try coder.optional("created", &createdMilliseconds)
        try coder.optional("createdBy", &creatorRecordName)
        try coder.optional("modified", &modifiedMilliseconds)
        try coder.optional("modifiedBy", &modifierRecordName)
        try coder.optional("shareRecordName", &shareRecordName)
        try coder.optional("sharing", &sharing)
    }

    package init() {}

    package init(_ system: RecordSnapshot.SystemFields) {
        changeTag = system.changeTag
        createdMilliseconds = system.createdMilliseconds
        creatorRecordName = system.creatorRecordName
        modifiedMilliseconds = system.modifiedMilliseconds
        modifierRecordName = system.modifierRecordName
        shareRecordName = system.shareRecordName
        sharing = system.sharing.map(Base64.text)
    }

    package var bytes: [UInt8] {
        var writer = JSONWriter(reservingBytes: 256)
        write(to: &writer)
        return writer.finish()
    }

    /// Nil where the bytes of sharing are not Base64.
    package var fields: RecordSnapshot.SystemFields? {
        let bytes = sharing.map { Base64.bytes($0) }
        guard bytes != .some(nil) else { return nil }
        return RecordSnapshot.SystemFields(
            changeTag: changeTag, createdMilliseconds: createdMilliseconds,
            creatorRecordName: creatorRecordName, modifiedMilliseconds: modifiedMilliseconds,
            modifierRecordName: modifierRecordName, shareRecordName: shareRecordName,
            sharing: bytes.flatMap { $0 })
    }
}
