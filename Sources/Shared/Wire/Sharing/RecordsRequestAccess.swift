import StratusRecords

/// `records/requestaccess`: asks the owners of shares for access, by the short GUIDs of their links. An
/// extension.
public enum RecordsRequestAccess: Endpoint {
    public static let path = "records/requestaccess"

    public typealias Request = RecordsResolve.Request

    public typealias Answer = ListBody<AccessRequestResult>
}

/// The accepted request for access, or why it was refused.
public typealias AccessRequestResult = Result<AccessRequest, ShortGUIDFailure>

/// An accepted request for access.
public struct AccessRequest: WireObject, ListItem {
    public static let listKey: StaticString = "results"

    /// The short GUID as it was sent.
    public var shortGUID = ShortGUIDDictionary()

    /// Makes the answer for one link.
    public init(shortGUID: ShortGUIDDictionary) {
        self.shortGUID = shortGUID
    }

    public init() {}

    public mutating func members<C: WireCoder & ~Copyable>(_ coder: inout C) throws(C.Failure) {
        try coder.required("shortGUID", &shortGUID)
    }
}
