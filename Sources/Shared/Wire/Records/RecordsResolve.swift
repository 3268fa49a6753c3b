import StratusRecords

/// `records/resolve`: what is behind the short GUID of a share's link.
public enum RecordsResolve: Endpoint {
    public static let path = "records/resolve"

    public struct Request: WireObject, Hashable, Sendable {
        public var shortGUIDs: [ShortGUIDDictionary] = []

        public init(shortGUIDs: [ShortGUIDDictionary]) {
            self.shortGUIDs = shortGUIDs
        }

        public init() {}

        public mutating func members<C: WireCoder & ~Copyable>(_ coder: inout C) throws(C.Failure) {
            try coder.required("shortGUIDs", &shortGUIDs)
        }
    }

    public struct Answer: WireObject, Hashable, Sendable {
        /// One result per short GUID, in the request's order.
        public var results: [ShareResult] = []

        public init(results: [ShareResult]) {
            self.results = results
        }

        public init() {}

        public mutating func members<C: WireCoder & ~Copyable>(_ coder: inout C) throws(C.Failure) {
            try coder.required("results", &results)
        }
    }
}

/// The short GUID of a link, and what is wanted with it.
public struct ShortGUIDDictionary: WireObject, Hashable, Sendable {
    public var value = ""
    public var shouldFetchRootRecord: Bool?
    /// Nil is all fields of the root record.
    public var rootRecordDesiredKeys: [String]?
    /// An extension: takes the invitation that has this token.
    public var oneTimeToken: String?

    public init(
        value: String, shouldFetchRootRecord: Bool? = nil, rootRecordDesiredKeys: [String]? = nil,
        oneTimeToken: String? = nil
    ) {
        self.value = value
        self.shouldFetchRootRecord = shouldFetchRootRecord
        self.rootRecordDesiredKeys = rootRecordDesiredKeys
        self.oneTimeToken = oneTimeToken
    }

    public init() {}

    public mutating func members<C: WireCoder & ~Copyable>(_ coder: inout C) throws(C.Failure) {
        try coder.required("value", &value)
        try coder.optional("shouldFetchRootRecord", &shouldFetchRootRecord)
        try coder.optional("rootRecordDesiredKeys", &rootRecordDesiredKeys)
        try coder.optional("oneTimeToken", &oneTimeToken)
    }
}

/// What is behind a short GUID, or why nothing is shown.
public enum ShareResult: WireValue {
    case share(ShareMetadataDictionary)
    case failure(shortGUID: ShortGUIDDictionary?, ServiceError)
}

extension ShareResult {
    public init(wire node: JSONNode) throws(WireError) {
        self =
            ServiceError.isError(node)
            ? .failure(
                shortGUID: try node.optional("shortGUID"), try ServiceError(wire: node))
            : .share(try ShareMetadataDictionary(wire: node))
    }

    public func write(to writer: inout JSONWriter) {
        switch self {
        case .share(let share): share.write(to: &writer)
        case .failure(let shortGUID, let error):
            writer.object { writer in
                writer.optional("shortGUID", shortGUID)
                error.writeMembers(to: &writer)
            }
        }
    }
}
