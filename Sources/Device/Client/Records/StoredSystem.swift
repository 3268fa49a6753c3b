import StratusRecords
import StratusWire

/// The form of a record's system fields in the cache's file, JSON.
package struct StoredSystem: WireObject {
    private var system = RecordSnapshot.SystemFields(changeTag: "")
    /// The sharing state in Base64.
    private var sharing: String?

    package mutating func members<C: WireCoder & ~Copyable>(_ coder: inout C) throws(C.Failure) {
        try coder.required("recordChangeTag", &system.changeTag)
        try coder.optional("created", &system.createdMilliseconds)
        try coder.optional("createdBy", &system.creatorRecordName)
        try coder.optional("modified", &system.modifiedMilliseconds)
        try coder.optional("modifiedBy", &system.modifierRecordName)
        try coder.optional("shareRecordName", &system.shareRecordName)
        try coder.optional("sharing", &sharing)
    }

    package init() {}

    package init(_ system: RecordSnapshot.SystemFields) {
        self.system = system
        sharing = system.sharing.map(Base64.text)
    }

    package var bytes: [UInt8] {
        var writer = JSONWriter(reservingBytes: 256)
        write(to: &writer)
        return writer.finish()
    }

    /// The system fields; nil if the sharing state is not Base64.
    package var fields: RecordSnapshot.SystemFields? {
        let bytes = sharing.map { Base64.bytes($0) }
        guard bytes != .some(nil) else { return nil }
        var fields = system
        fields.sharing = bytes.flatMap { $0 }
        return fields
    }
}
