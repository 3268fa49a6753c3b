import StratusRecords

/// `zones/modify`: creates and deletes custom zones.
public enum ZonesModify: Endpoint {
    public static let path = "zones/modify"

    public struct Request: WireObject, Hashable, Sendable {
        public var operations: [Operation] = []
        /// An extension: an identifier by which a repeated request is recognised.
        public var operationID: String?

        public init(operations: [Operation], operationID: String? = nil) {
            self.operations = operations
            self.operationID = operationID
        }

        public init() {}

        public mutating func members<C: WireCoder & ~Copyable>(_ coder: inout C) throws(C.Failure) {
            try coder.required("operations", &operations)
            try coder.optional("operationID", &operationID)
        }
    }

    public struct Operation: WireValue {
        public enum Kind: String, WireWord, Hashable, Sendable {
            case create
            case delete
        }

        public var kind: Kind
        public var zoneID: ZoneIDDictionary
        /// An extension, for a zone to create; nil is per record.
        public var encryptionScope: ZoneEncryptionScope?
        /// An extension, for a zone to delete: the ``ZoneDictionary/generation`` of the one that is meant. A zone of the
        /// name that was created later stays.
        public var generation: Int64?

        public init(
            _ kind: Kind, _ zoneID: ZoneIDDictionary, encryptionScope: ZoneEncryptionScope? = nil,
            generation: Int64? = nil
        ) {
            self.kind = kind
            self.zoneID = zoneID
            self.encryptionScope = encryptionScope
            self.generation = generation
        }
    }

    /// One result per operation, in the request's order; a deleted zone says so.
    public typealias Answer = ZonesList.Answer
}

extension ZonesModify.Operation {
    public init(wire node: JSONNode) throws(WireError) {
        try node.expectObject()
        self.init(
            try node.required("operationType"), try node.required("zone"),
            encryptionScope: try node["zone"]?.optional("encryptionScope"),
            generation: try node["zone"]?.optional("generation"))
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("operationType", kind)
            writer.key("zone")
            writer.object { writer in
                writer.member("zoneID", zoneID)
                writer.optional("encryptionScope", encryptionScope)
                writer.optional("generation", generation)
            }
        }
    }
}
