import StratusRecords

/// `zones/modify`: creates and deletes custom zones.
public enum ZonesModify: Endpoint {
    public static let path = "zones/modify"

    public struct Request: WireObject, Hashable, Sendable {
        /// The zones to create and delete, each in one operation only; at most `Limits.operationsPerRequest`.
        public var operations: [Operation] = []
        /// An extension: an identifier by which a repeated request is recognised.
        public var operationID: String?

        /// Makes a request of the given operations.
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

    /// A creation or deletion of one zone.
    public struct Operation: WireValue {
        /// What an operation does with the zone.
        public enum Kind: String, WireWord, Hashable, Sendable {
            /// Creates the zone; an existing one is a success.
            case create
            /// Deletes the zone; a missing one is a success. In the shared database, leaves the zone's shares.
            case delete
        }

        /// Whether to create or to delete.
        public var kind: Kind
        /// The zone to create or delete; the default zone cannot be deleted.
        public var zoneID: ZoneIDDictionary
        /// An extension, for a zone to create; nil is per record.
        public var encryptionScope: ZoneEncryptionScope?
        /// An extension, for a zone to delete: the ``ZoneDictionary/generation`` of the one that is meant. A zone of the
        /// name that was created later stays.
        public var generation: Int64?

        /// Makes an operation that creates or deletes a zone.
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
