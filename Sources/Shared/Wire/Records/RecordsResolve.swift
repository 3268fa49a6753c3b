import StratusRecords

/// `records/resolve`: what is behind the short GUID of a share's link.
public enum RecordsResolve: Endpoint {
    public static let path = "records/resolve"

    public struct Request: WireValue {
        public var shortGUIDs: [ShortGUIDDictionary]

        public init(shortGUIDs: [ShortGUIDDictionary]) {
            self.shortGUIDs = shortGUIDs
        }
    }

    public struct Answer: WireValue {
        /// One result per short GUID, in the request's order.
        public var results: [ShareResult]

        public init(results: [ShareResult]) {
            self.results = results
        }
    }
}

/// The short GUID of a link, and what is wanted with it.
public struct ShortGUIDDictionary: WireValue {
    public var value: String
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
}

/// What is behind a short GUID, or why nothing is shown.
public enum ShareResult: WireValue {
    case share(ShareMetadataDictionary)
    case failure(shortGUID: ShortGUIDDictionary?, ServiceError)
}

extension RecordsResolve.Request {
    public init(wire node: JSONNode) throws(WireError) {
        try node.expectObject()
        self.init(shortGUIDs: try node.required("shortGUIDs"))
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { $0.member("shortGUIDs", shortGUIDs) }
    }
}

extension RecordsResolve.Answer {
    public init(wire node: JSONNode) throws(WireError) {
        self.init(results: try node.required("results"))
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { $0.member("results", results) }
    }
}

extension ShortGUIDDictionary {
    public init(wire node: JSONNode) throws(WireError) {
        try node.expectObject()
        self.init(
            value: try node.required("value"),
            shouldFetchRootRecord: try node.optional("shouldFetchRootRecord"),
            rootRecordDesiredKeys: try node.optional("rootRecordDesiredKeys"),
            oneTimeToken: try node.optional("oneTimeToken"))
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("value", value)
            writer.optional("shouldFetchRootRecord", shouldFetchRootRecord)
            writer.optional("rootRecordDesiredKeys", rootRecordDesiredKeys)
            writer.optional("oneTimeToken", oneTimeToken)
        }
    }
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
