import StratusRecords

/// `operations/cancel`, an extension: a device that got no answer to a request asks that the request not be carried out
/// if it still arrives.
///
/// What was carried out already stays; the zones' changes show whether it was. A device is identified by the `clientId`
/// of its requests, or else by its session.
public enum OperationsCancel: Endpoint {
    public static let path = "operations/cancel"

    /// How many operations one request names: a device waits for one request at a time, so that there are few.
    public static let maximumCount = 10

    public struct Request: WireObject, Hashable, Sendable {
        /// The identifiers of records/modify and zones/modify requests of this device, at most ten.
        public var operationIDs: [String] = []
        /// In the shared database: the owners of the zones that they named.
        public var ownerRecordNames: [String]?

        /// Makes a request to cancel operations of this device.
        public init(operationIDs: [String], ownerRecordNames: [String]? = nil) {
            self.operationIDs = operationIDs
            self.ownerRecordNames = ownerRecordNames
        }

        public init() {}

        public mutating func members<C: WireCoder & ~Copyable>(_ coder: inout C) throws(C.Failure) {
            try coder.required("operationIDs", &operationIDs)
            try coder.optional("ownerRecordNames", &ownerRecordNames)
        }
    }

    public typealias Answer = EmptyBody
}
