import StratusRecords
import StratusWire

/// A full disk of the service: it then refuses what needs room, and serves everything else.
enum FullService {
    /// The row in the table of faults.
    static let fault = "service disk full"

    /// The operations of requests that may need room.
    static let operations = ["assets/put", RecordsModify.path]

    /// What the service answers to them.
    static let refusal = ServiceError(
        .tryAgainLater,
        "The service's disk is full: records can be read and deleted; save again when it has room.",
        retryAfterSeconds: 30, stratusCode: .diskFull)

    /// Whether a request to save or delete records needs room: a deletion does not.
    static func refuses(_ request: RecordsModify.Request) -> Bool {
        request.operations.contains { !$0.kind.isDeletion }
    }
}
