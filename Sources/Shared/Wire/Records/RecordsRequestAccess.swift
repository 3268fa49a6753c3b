import StratusRecords

/// `records/requestaccess`: asks the owners of shares for access, by the short GUIDs of their links. An
/// extension.
public enum RecordsRequestAccess: Endpoint {
    public static let path = "records/requestaccess"

    public typealias Request = RecordsResolve.Request

    public struct Answer: WireValue {
        /// One result per short GUID, in the request's order.
        public var results: [AccessRequestResult]

        public init(results: [AccessRequestResult]) {
            self.results = results
        }
    }
}

/// That a request for access was taken, or why it was not.
public enum AccessRequestResult: WireValue {
    case taken(ShortGUIDDictionary)
    case failure(shortGUID: ShortGUIDDictionary?, ServiceError)
}

extension RecordsRequestAccess.Answer {
    public init(wire node: JSONNode) throws(WireError) {
        self.init(results: try node.required("results"))
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { $0.member("results", results) }
    }
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
