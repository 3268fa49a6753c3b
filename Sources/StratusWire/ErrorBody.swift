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
