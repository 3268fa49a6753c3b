import StratusTesting
import StratusWire

/// The end of a device's process between the commit of one of its requests and the answer. It comes from a separate
/// sequence of numbers, so that other faults stay as they are.
struct EndBeforeAnswer: Sendable {
    /// The row in the table of faults.
    static let fault = "kill before answer"

    /// The operations of the requests that devices send; the service never refuses a download.
    static let operations = [
        "assets/get", "assets/put", "assets/upload", "changes/database", "changes/zone",
        "operations/cancel", RecordsAccept.path, "records/lookup", "records/modify",
        RecordsResolve.path, "subscriptions/lookup", "subscriptions/modify", "tokens/create",
        "tokens/register", "users/caller", "zones/modify",
    ]

    /// Those of which one is drawn: more often if few devices send them.
    private static let paths = operations.flatMap {
        Array(repeating: $0, count: weight(of: $0))
    }

    private let path: String
    /// How many requests of the operation are still answered before it; -1 afterwards.
    private var answers: Int

    /// Draws it; nil for half of the devices.
    init?(seed: UInt64) {
        var numbers = SeededNumbers(seed: seed ^ 0x454E_4442)
        guard numbers.below(2) == 0 else { return nil }
        path = Self.paths[numbers.below(Self.paths.count)]
        answers = Self.weight(of: path) > 1 ? 0 : numbers.below(4)
    }

    private static func weight(of path: String) -> Int {
        switch path {
        case "assets/get": 8
        case _ where path.hasPrefix("assets/"): 3
        case OperationsCancel.path, RecordsLookup.path, RecordsResolve.path, RecordsAccept.path: 3
        default: 1
        }
    }

    /// Whether the process ends now that the service has served a request.
    mutating func isDue(after served: String) -> Bool {
        guard served == path, answers >= 0 else { return false }
        answers -= 1
        return answers < 0
    }
}
