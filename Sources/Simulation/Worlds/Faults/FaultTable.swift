import StratusWire
import Synchronization

/// How often each fault occurred with each operation.
///
/// ```swift
/// let table = FaultTable()
/// for seed: UInt64 in 1...100 { _ = Simulation.run(seed: seed, table: table) }
/// print(table.text)
/// ```
public final class FaultTable: Sendable {
    private let counts = Mutex<[String: [String: Int]]>([:])

    /// Makes an empty table, which a run fills.
    public init() {}

    func count(_ fault: String, _ operation: String, times: Int = 1) {
        counts.withLock { $0[fault, default: [:]][operation, default: 0] += times }
    }

    /// By fault, then by operation.
    public var rows: [String: [String: Int]] { counts.withLock { $0 } }

    /// Adds another table's counts.
    public func add(_ rows: [String: [String: Int]]) {
        for (fault, operations) in rows {
            for (operation, times) in operations { count(fault, operation, times: times) }
        }
    }

    /// The table as text: a row for each fault, a column for each operation.
    public var text: String {
        let rows = rows
        let operations = Set(rows.values.flatMap(\.keys)).sorted()
        let width = (rows.keys.map(\.count).max() ?? 0) + 1
        func cell(_ text: String, _ width: Int) -> String {
            String(repeating: " ", count: max(0, width - text.count)) + text
        }
        var lines = [
            cell("", width) + operations.map { cell($0, $0.count + 2) }.joined()
        ]
        for fault in rows.keys.sorted() {
            let cells = operations.map { cell("\(rows[fault]?[$0] ?? 0)", $0.count + 2) }
            lines.append(
                fault + String(repeating: " ", count: width - fault.count) + cells.joined())
        }
        return lines.joined(separator: "\n")
    }

    /// The requests that never arrive twice, nor after the device has given them up.
    private static let singleRequests = ["assets/get", RecordsAccept.path]

    /// The faults that an operation can meet. Why others cannot: Documentation/Simulation.md.
    private static func faults(of request: String) -> [String] {
        var faults: [RequestFault] = [.noRoute, .requestLost, .answerLost, .late]
        let codes =
            request == OperationsCancel.path
            ? RequestFault.cancelCodes : RequestFault.requestCodes
        faults += codes.map { .refused($0) }
        if !singleRequests.contains(request) { faults += [.doubled, .abandoned] }
        if request.hasPrefix("changes/") { faults.append(.tokensExpired) }
        faults += RequestFault.itemCodes(of: request).map { .itemRefused($0) }
        return faults.map(\.name)
            + (EndBeforeAnswer.operations.contains(request) ? [EndBeforeAnswer.fault] : [])
            + (FullService.operations.contains(request) ? [FullService.fault] : [])
    }

    /// The pairs of a fault and an operation that occurred less often: a line for each operation, with the counts.
    /// Requests that devices did not send before are required too, as soon as one of them meets a fault.
    public func scarcePairs(below limit: Int) -> [String] {
        let rows = rows
        let requests = Set(rows.values.flatMap(\.keys)).union(EndBeforeAnswer.operations)
            .subtracting(["notifications", "steps"])
        var faults = Dictionary(
            uniqueKeysWithValues: requests.map { ($0, Self.faults(of: $0)) })
        faults["notifications"] = ["push dropped", "push doubled"]
        let occurred = rows.filter { $0.value["steps"] != nil }.keys
        faults["steps"] = Set(occurred).union(Step.faultsOfEveryLane).sorted()
        return faults.sorted { $0.key < $1.key }.compactMap { operation, faults in
            let scarce = faults.filter { rows[$0]?[operation] ?? 0 < limit }
            if scarce.isEmpty { return nil }
            return "\(operation): "
                + scarce.map { "\($0) \(rows[$0]?[operation] ?? 0)" }.joined(separator: ", ")
        }
    }
}
