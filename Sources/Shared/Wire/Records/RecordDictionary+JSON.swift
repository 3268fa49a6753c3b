import StratusRecords

extension RecordDictionary: WireReadable, WireWritable {
    public init(wire node: JSONNode) throws(WireError) {
        var malformed: WireError?
        self = try RecordDictionary(wire: node, malformedFields: &malformed)
        if let malformed { throw malformed }
    }

    /// Reads a record whose fields may be malformed; then it has no fields.
    ///
    /// - Parameter keepsFields: Whether the fields are read as a device keeps them.
    init(
        wire node: JSONNode, keepsFields: Bool = false, malformedFields: inout WireError?
    ) throws(WireError) {
        try node.expectObject()
        self.init()
        for (key, member) in node.members {
            do {
                if keepsFields, key == "fields", !member.isNull {
                    fields = try RecordFields(keeping: member)
                } else {
                    try read(key, member)
                }
            } catch {
                let error = error.within(key.string)
                guard key == "fields" else { throw error }
                malformedFields = error
            }
        }
    }

    private mutating func read(_ key: JSONText, _ member: JSONNode) throws(WireError) {
        if member.isNull {
            // The only null with a meaning: it takes the record out of its hierarchy.
            if key == "parent" { parentRecordName = .none }
            return
        }
        switch key {
        case "recordName": recordName = try String(wire: member)
        case "recordType": recordType = try String(wire: member)
        case "recordChangeTag": recordChangeTag = try String(wire: member)
        case "fields": fields = try RecordFields(wire: member)
        case "zoneID": zoneID = try ZoneIDDictionary(wire: member)
        case "created": created = try Stamp(wire: member)
        case "modified": modified = try Stamp(wire: member)
        case "parent": parentRecordName = .some(try member.required("recordName"))
        case "share": shareRecordName = try member.required("recordName")
        case "createShortGUID": createShortGUID = try Bool(wire: member)
        case "shortGUID":
            // Apple's documents have a dictionary, the live service a string.
            shortGUID =
                member.isObject ? try member.optional("value") : try String(wire: member)
        default: try readShare(key, member)
        }
    }

    private mutating func readShare(_ key: JSONText, _ member: JSONNode) throws(WireError) {
        var share = share ?? ShareDictionary()
        if try share.read(key, member) { self.share = share }
    }

    /// Writes the record for an answer, with all members that other clients require.
    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writeMembers(to: &writer)
            writer.key("pluginFields")
            writer.object { _ in }
            writer.optional("created", created)
            writer.optional("modified", modified)
            writer.member("deleted", false)
            if let shareRecordName { writer.recordName("share", shareRecordName) }
        }
    }

    /// Writes the record for a request, without the members that only the service knows.
    func writeRequest(to writer: inout JSONWriter) {
        writer.object { writer in
            writeMembers(to: &writer, skippingEmptyFields: true)
            if parentRecordName == .none {
                writer.key("parent")
                writer.null()
            }
            writer.flag("createShortGUID", createShortGUID)
        }
    }

    private func writeMembers(to writer: inout JSONWriter, skippingEmptyFields: Bool = false) {
        writer.optional("recordName", recordName)
        writer.optional("recordType", recordType)
        if !(skippingEmptyFields && fields == .values([])) { writer.member("fields", fields) }
        writer.optional("recordChangeTag", recordChangeTag)
        writer.optional("zoneID", zoneID)
        if case .some(let parent) = parentRecordName { writer.recordName("parent", parent) }
        writer.optional("shortGUID", shortGUID)
        share?.writeMembers(to: &writer)
    }
}

extension RecordDictionary.Stamp: WireReadable, WireWritable {
    public init(wire node: JSONNode) throws(WireError) {
        self.init(
            timestampMilliseconds: try node.required("timestamp"),
            userRecordName: try node.optional("userRecordName") ?? "",
            deviceID: try node.optional("deviceID") ?? "")
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("timestamp", timestampMilliseconds)
            writer.member("userRecordName", userRecordName)
            writer.member("deviceID", deviceID)
        }
    }
}

extension RecordResult: WireReadable, WireWritable {
    public init(wire node: JSONNode) throws(WireError) {
        try self.init(wire: node, keepsFields: false)
    }

    /// Reads a result. A record with malformed fields fails alone, so that the others of the answer are read.
    init(wire node: JSONNode, keepsFields: Bool) throws(WireError) {
        if ServiceError.isError(node) {
            self = .failure(try RecordFailure(wire: node))
        } else if try node.optional("deleted", as: Bool.self) == true {
            self = .deleted(try Tombstone(wire: node))
        } else {
            var malformed: WireError?
            let record = try RecordDictionary(
                wire: node, keepsFields: keepsFields, malformedFields: &malformed)
            guard let error = malformed else {
                self = .record(record)
                return
            }
            // Without a name the error belongs to no record.
            guard let name = record.recordName else { throw error }
            self = .failure(
                RecordFailure(
                    recordName: name, zoneID: record.zoneID, error: .unreadable(name, error)))
        }
    }

    public func write(to writer: inout JSONWriter) {
        switch self {
        case .record(let record): record.write(to: &writer)
        case .deleted(let tombstone): tombstone.write(to: &writer)
        case .failure(let failure): failure.write(to: &writer)
        }
    }
}

extension ServiceError {
    fileprivate static func unreadable(_ recordName: String, _ error: WireError) -> ServiceError {
        ServiceError(
            .internalError,
            """
            The record '\(recordName)' of the answer cannot be read at \(error.path): \(error.reason) Update \
            the app, or save the record again.
            """, frameworkCode: .internalError)
    }
}

extension RecordFailure: WireObject {
    public mutating func members<C: WireCoder & ~Copyable>(_ coder: inout C) throws(C.Failure) {
        try coder.optional("recordName", &recordName)
        try coder.optional("zoneID", &zoneID)
        try coder.error(&error)
        try coder.optional("uuid", &uuid)
        var server = serverRecord.map { RecordOfFailure(record: $0) }
        try coder.optional("serverRecord", &server)
        serverRecord = server?.record
        var ancestor = ancestorRecord.map { RecordOfFailure(record: $0) }
        try coder.optional("ancestorRecord", &ancestor)
        ancestorRecord = ancestor?.record
    }
}

/// A record that a failure has besides its error. It is left out if its fields are malformed, so that the failure and
/// the other results of the answer are read.
private struct RecordOfFailure: WireReadable, WireWritable {
    var record: RecordDictionary?

    init(record: RecordDictionary) {
        self.record = record
    }

    init(wire node: JSONNode) throws(WireError) {
        var malformed: WireError?
        let record = try RecordDictionary(wire: node, malformedFields: &malformed)
        self.record = malformed == nil ? record : nil
    }

    func write(to writer: inout JSONWriter) {
        record?.write(to: &writer)
    }
}

extension RecordResult.Tombstone: WireObject {
    public mutating func members<C: WireCoder & ~Copyable>(_ coder: inout C) throws(C.Failure) {
        try coder.required("recordName", &recordName)
        // Distinguishes it from a record.
        var isDeleted = true
        try coder.required("deleted", &isDeleted)
        try coder.optional("recordType", &recordType)
        try coder.optional("recordChangeTag", &recordChangeTag)
        try coder.optional("createdTimestamp", &createdTimestamp)
        try coder.optional("zoneID", &zoneID)
    }
}
