import StratusRecords

/// The body of an answer that failed as a whole (HTTP status other than 200).
public struct ErrorBody: Hashable, Sendable {
    public var uuid: String
    public var error: ServiceError
    /// One result per operation, when an atomic batch failed.
    public var records: [RecordResult]?

    public init(uuid: String, error: ServiceError, records: [RecordResult]? = nil) {
        self.uuid = uuid
        self.error = error
        self.records = records
    }
}

/// A request that failed as a whole: what the service throws and what a transport hands on.
public struct RequestFailure: Error, Hashable, Sendable {
    public var error: ServiceError
    /// One result per operation, when an atomic batch failed.
    public var records: [RecordResult]?

    public init(_ error: ServiceError, records: [RecordResult]? = nil) {
        self.error = error
        self.records = records
    }
}
