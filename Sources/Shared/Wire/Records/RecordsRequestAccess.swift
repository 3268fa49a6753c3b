import StratusRecords

/// `records/requestaccess`: asks the owners of shares for access, by the short GUIDs of their links. An
/// extension.
public enum RecordsRequestAccess: Endpoint {
    public static let path = "records/requestaccess"

    public typealias Request = RecordsResolve.Request

    public struct Answer: WireObject, Hashable, Sendable {
        /// One result per short GUID, in the request's order.
        public var results: [AccessRequestResult] = []

        public init(results: [AccessRequestResult]) {
            self.results = results
        }

        public init() {}

        public mutating func members<C: WireCoder & ~Copyable>(_ coder: inout C) throws(C.Failure) {
            try coder.required("results", &results)
        }
    }
}

/// That a request for access was taken, or why it was not.
public enum AccessRequestResult: WireValue {
    case taken(ShortGUIDDictionary)
    case failure(shortGUID: ShortGUIDDictionary?, ServiceError)
}

extension AccessRequestResult {
    public init(wire node: JSONNode) throws(WireError) {
        self =
            ServiceError.isError(node)
            ? .failure(
                shortGUID: try node.optional("shortGUID"), try ServiceError(wire: node))
            : .taken(try node.required("shortGUID"))
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            switch self {
            case .taken(let shortGUID): writer.member("shortGUID", shortGUID)
            case .failure(let shortGUID, let error):
                writer.optional("shortGUID", shortGUID)
                error.writeMembers(to: &writer)
            }
        }
    }
}
