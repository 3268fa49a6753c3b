import StratusRecords

/// `records/resolve`: returns the share that the short GUID of a link leads to.
public enum RecordsResolve: Endpoint {
    public static let path = "records/resolve"

    public typealias Request = ListBody<ShortGUIDDictionary>

    public typealias Answer = ListBody<ShareResult>
}

/// The short GUID of a link, with the options of the request.
public struct ShortGUIDDictionary: WireObject, Hashable, Sendable {
    /// The short GUID: the end of the link `{origin}/share/{shortGUID}`.
    public var value = ""
    /// Whether the answer has the root record; nil is false. Has no effect in `records/requestaccess`.
    public var shouldFetchRootRecord: Bool?
    /// Nil for all fields of the root record.
    public var rootRecordDesiredKeys: [String]?
    /// An extension: accepts the invitation with this token.
    public var oneTimeToken: String?

    /// Names the share of a link.
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

/// Why one short GUID of a request failed.
public struct ShortGUIDFailure: WireObject, Error, Hashable, Sendable {
    /// The short GUID with its options, as it was sent; nil if the answer does not have it.
    public var shortGUID: ShortGUIDDictionary?
    /// What went wrong with this link.
    public var error = ServiceError.unread

    /// Makes the failure of one link.
    public init(shortGUID: ShortGUIDDictionary?, error: ServiceError) {
        self.shortGUID = shortGUID
        self.error = error
    }

    public init() {}

    public mutating func members<C: WireCoder & ~Copyable>(_ coder: inout C) throws(C.Failure) {
        try coder.optional("shortGUID", &shortGUID)
        try coder.error(&error)
    }
}

extension ShortGUIDDictionary: ListItem {
    public static var listKey: StaticString { "shortGUIDs" }
}

/// The share of a short GUID, or why it is not shown.
public typealias ShareResult = Result<ShareMetadataDictionary, ShortGUIDFailure>

extension ShareMetadataDictionary: ListItem {
    public static var listKey: StaticString { "results" }
}
