import StratusRecords

/// `records/modify`: saves and deletes records.
///
/// ```swift
/// let request = RecordsModify.Request(
///     operations: [.init(.create, RecordDictionary(recordName: "hut-3", recordType: "Hut"))],
///     zoneID: ZoneIDDictionary(zoneName: "Trips"))
/// let body = wireBytes(of: request)
/// ```
public enum RecordsModify: Endpoint {
    public static let path = "records/modify"

    public struct Request: WireObject, Hashable, Sendable {
        /// The saves and deletions, each record in one operation only; at most `Limits.operationsPerRequest`.
        public var operations: [Operation] = []
        /// The zone of operations whose record names none; nil for the default zone.
        public var zoneID: ZoneIDDictionary?
        /// All or nothing within each custom zone.
        public var isAtomic = true
        /// The fields to return; nil for all of them.
        public var desiredKeys: [String]?
        /// Whether INT64, DOUBLE and TIMESTAMP values, and lists of them, are strings in the answer.
        public var numbersAsStrings = false
        /// An extension: an identifier by which a repeated request is recognised.
        public var operationID: String?

        /// Makes a request of the given operations.
        public init(
            operations: [Operation], zoneID: ZoneIDDictionary? = nil, isAtomic: Bool = true,
            desiredKeys: [String]? = nil, numbersAsStrings: Bool = false, operationID: String? = nil
        ) {
            self.operations = operations
            self.zoneID = zoneID
            self.isAtomic = isAtomic
            self.desiredKeys = desiredKeys
            self.numbersAsStrings = numbersAsStrings
            self.operationID = operationID
        }

        public init() {}

        public mutating func members<C: WireCoder & ~Copyable>(_ coder: inout C) throws(C.Failure) {
            try coder.required("operations", &operations)
            try coder.optional("zoneID", &zoneID)
            try coder.defaulted("atomic", &isAtomic)
            try coder.optional("desiredKeys", &desiredKeys)
            try coder.numbersAsStrings(&numbersAsStrings)
            try coder.optional("operationID", &operationID)
        }
    }

    /// A save or a deletion of one record.
    public struct Operation: WireValue {
        /// What the operation does, and what must hold for it.
        public var kind: Kind
        /// The record to save; of a record to delete only the name, the zone and the change tag matter.
        public var record: RecordDictionary
        /// Overrides the request's value.
        public var desiredKeys: [String]?
        /// Overrides the request's value.
        public var numbersAsStrings: Bool?
        /// The error in the record's fields, which are then left out: it fails the operation, and not the others of the
        /// request. Only in a request that was read.
        public private(set) var malformedFields: WireError?

        /// Makes an operation; nil takes the request's value.
        public init(
            _ kind: Kind, _ record: RecordDictionary, desiredKeys: [String]? = nil,
            numbersAsStrings: Bool? = nil
        ) {
            self.kind = kind
            self.record = record
            self.desiredKeys = desiredKeys
            self.numbersAsStrings = numbersAsStrings
        }
    }

    /// What an operation does, and what must hold for it. The raw values are the protocol's words.
    public enum Kind: String, WireWord, Hashable, Sendable, CaseIterable {
        /// Inserts; the name must be free.
        case create
        /// Changes the given fields; the change tag must be the current one.
        case update
        /// Changes the given fields regardless of the tag; inserts when absent.
        case forceUpdate
        /// Sets the given fields and clears all others; the change tag must be the current one.
        case replace
        /// Sets the given fields and clears all others, regardless of the tag; inserts when absent.
        case forceReplace
        /// Deletes; the change tag must be the current one.
        case delete
        /// Deletes regardless of the tag.
        case forceDelete

        /// Whether the operation deletes, with or without a check of the change tag.
        public var isDeletion: Bool { self == .delete || self == .forceDelete }
    }

    /// One result per operation, in the request's order.
    public typealias Answer = RecordsLookup.Answer
}

extension RecordsModify.Operation {
    public init(wire node: JSONNode) throws(WireError) {
        try node.expectObject()
        let kind = try Self.kind(node)
        guard let record = node["record"], !record.isNull else {
            throw WireError("This key is required.", at: "record")
        }
        var malformed: WireError?
        do {
            self.init(kind, try RecordDictionary(wire: record, malformedFields: &malformed))
        } catch {
            throw error.within("record")
        }
        malformedFields = malformed
        desiredKeys = try node.optional("desiredKeys")
        numbersAsStrings = try node.numbersAsStrings()
    }

    /// Compares the bytes, which is faster than making a string: there are many operations.
    private static func kind(_ node: JSONNode) throws(WireError) -> RecordsModify.Kind {
        switch node["operationType"]?.stringText {
        case .some("create"): .create
        case .some("update"): .update
        case .some("forceUpdate"): .forceUpdate
        case .some("replace"): .replace
        case .some("forceReplace"): .forceReplace
        case .some("delete"): .delete
        case .some("forceDelete"): .forceDelete
        default: try node.required("operationType")
        }
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("operationType", kind)
            writer.key("record")
            record.writeRequest(to: &writer)
            writer.optional("desiredKeys", desiredKeys)
            writer.optional("numbersAsStrings", numbersAsStrings)
        }
    }
}
