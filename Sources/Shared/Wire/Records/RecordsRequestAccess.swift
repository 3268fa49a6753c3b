import StratusRecords

/// `records/requestaccess`: asks the owners of shares for access, by the short GUIDs of their links. An
/// extension.
public enum RecordsRequestAccess: Endpoint {
    public static let path = "records/requestaccess"

    public typealias Request = RecordsResolve.Request

    public typealias Answer = ListBody<AccessRequestResult>
}

/// That a request for access was taken, or why it was not.
public typealias AccessRequestResult = Result<AccessRequest, ShortGUIDFailure>

/// A request for access that was taken.
public struct AccessRequest: WireObject, ListItem {
    public static let listKey: StaticString = "results"

    /// As it was asked.
    public var shortGUID = ShortGUIDDictionary()

    public init(shortGUID: ShortGUIDDictionary) {
        self.shortGUID = shortGUID
    }

    public init() {}

    public mutating func members<C: WireCoder & ~Copyable>(_ coder: inout C) throws(C.Failure) {
        try coder.required("shortGUID", &shortGUID)
    }
}
