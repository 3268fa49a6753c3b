import StratusRecords

/// `zones/modify`: creates and deletes custom zones.
public enum ZonesModify: Endpoint {
    public static let path = "zones/modify"

    public struct Request: Hashable, Sendable {
        public var operations: [Operation]

        public init(operations: [Operation]) {
            self.operations = operations
        }
    }

    public struct Operation: Hashable, Sendable {
        public enum Kind: String, Hashable, Sendable {
            case create
            case delete
        }

        public var kind: Kind
        public var zoneID: ZoneIDDictionary

        public init(_ kind: Kind, _ zoneID: ZoneIDDictionary) {
            self.kind = kind
            self.zoneID = zoneID
        }
    }

    /// One result per operation, in the request's order; a deleted zone says so.
    public typealias Answer = ZonesList.Answer
}
