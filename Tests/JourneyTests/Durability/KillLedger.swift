import Foundation

/// What all devices did and which answers they got, from the ledgers of their processes, and what follows from that.
///
/// Each value of a record is the name of the operation that wrote it, so that a value shows its origin.
struct KillLedger {
    enum Kind: Equatable {
        case make
        case edit(String)
        case delete
    }

    struct Operation: Equatable {
        let name: String
        let device: String
        let kind: Kind
        let record: String
        let began: Int64
        /// The position among the device's operations.
        let position: Int
        /// Whether the device got an answer; otherwise the process was killed, and the operation may have happened or
        /// not.
        var isAcknowledged = false
        /// The latest time at which it can have ended.
        var ended = Int64.max

        func writes(_ field: String) -> Bool { kind == .make || kind == .edit(field) }
    }

    struct Row: Equatable {
        let record: String
        /// The values by field.
        let values: [String: String]
    }

    /// The content of a device's file when a process opened it.
    struct View {
        let life: String
        let time: Int64
        /// How many of the device's operations came before.
        let position: Int
        let rows: [Row]
    }

    static let fields = ["key", "a", "b"]
    /// By how much two devices' times may differ: both use the machine's clock, corrected by the service's answers.
    private static let toleranceMilliseconds: Int64 = 50

    /// By device, in the order in which they began.
    let operations: [String: [Operation]]
    private(set) var views: [View] = []
    private let byRecord: [String: [Operation]]

    /// - Parameter ledgers: one for each device.
    init(_ ledgers: [String]) {
        var operations: [String: [Operation]] = [:]
        for ledger in ledgers { Self.read(ledger, &operations, &views) }
        self.operations = operations
        byRecord = Dictionary(grouping: operations.values.joined(), by: \.record)
    }

    private static func read(
        _ ledger: String, _ operations: inout [String: [Operation]], _ views: inout [View]
    ) {
        var open: Operation?
        var life = ""
        var rows: [Row] = []
        for line in ledger.split(separator: "\n") {
            var words = line.split(separator: " ").map(String.init)
            // A kill may have cut the line.
            guard words.last == ".", words.count > 2, let time = Int64(words[0]) else { continue }
            words = Array(words[1..<(words.count - 1)])
            switch words[0] {
            case "life":
                // The earlier process has ended by now.
                if var cut = open {
                    cut.ended = time
                    operations[cut.device, default: []].append(cut)
                    open = nil
                }
                life = words[1]
                rows = []
            case "begin":
                let device = device(of: life)
                open = Operation(
                    name: words[1], device: device, kind: kind(words[2]), record: words[3],
                    began: time, position: operations[device]?.count ?? 0)
            case "end":
                guard var done = open, done.name == words[1] else { continue }
                done.isAcknowledged = true
                done.ended = time
                operations[done.device, default: []].append(done)
                open = nil
            case "row": rows.append(row(words.dropFirst()))
            default:
                let position = operations[device(of: life)]?.count ?? 0
                views.append(View(life: life, time: time, position: position, rows: rows))
            }
        }
        if let open { operations[open.device, default: []].append(open) }
    }

    private static func device(of life: String) -> String {
        String(life.split(separator: ".")[0])
    }

    private static func kind(_ word: String) -> Kind {
        switch word {
        case "make": .make
        case "delete": .delete
        default: .edit(String(word.dropFirst("edit-".count)))
        }
    }

    /// - Parameter words: the record's name and its values, as a process prints them.
    static func row(_ words: some Sequence<String>) -> Row {
        let words = Array(words)
        return Row(
            record: words.first ?? "",
            values: Dictionary(zip(fields, words.dropFirst()), uniquingKeysWith: { $1 }))
    }

    // MARK: What must hold

    /// The violations in what a device or the service has at the end, when everything is synced.
    func violations(atEnd rows: [Row]) -> [String] {
        violations(rows, isPossible: { _ in true }, isBinding: { _ in true })
    }

    /// The violations in what a process found in its file.
    ///
    /// Changes that this device got an answer to must be there; others' changes may have arrived or not.
    func violations(in view: View) -> [String] {
        let device = Self.device(of: view.life)
        return violations(
            view.rows,
            isPossible: {
                $0.device == device ? $0.position < view.position : $0.began <= view.time
            },
            isBinding: { $0.device == device }
        ).map { "\(view.life): \($0)" }
    }

    /// - Parameters:
    ///   - isPossible: Whether an operation may be seen in the rows.
    ///   - isBinding: Whether such an operation must be seen, if it was acknowledged.
    private func violations(
        _ rows: [Row], isPossible: (Operation) -> Bool, isBinding: (Operation) -> Bool
    ) -> [String] {
        var found: [String] = []
        for (what, count) in Self.counts(rows.map(\.record)) where count > 1 {
            found.append("doubled: record \(what) is there \(count) times")
        }
        for (what, count) in Self.counts(rows.compactMap { $0.values["key"] }) where count > 1 {
            found.append("doubled: what \(what) made is there \(count) times")
        }
        for row in rows {
            let known = byRecord[row.record, default: []].filter(isPossible)
            let bound = known.filter { $0.isAcknowledged && isBinding($0) }
            if known.first(where: { $0.kind == .make })?.name != row.values["key"] {
                found.append("doubled: no operation made \(row)")
            }
            if let deletion = bound.first(where: { $0.kind == .delete }) {
                found.append("back: \(row.record), which \(deletion.name) deleted")
            }
            for field in ["a", "b"] {
                found += violation(of: row, field, bound, known)
            }
        }
        let names = Set(rows.map(\.record))
        for (record, operations) in byRecord where !names.contains(record) {
            let known = operations.filter(isPossible)
            guard !known.contains(where: { $0.kind == .delete }) else { continue }
            found += known.filter { $0.kind == .make && $0.isAcknowledged && isBinding($0) }
                .map { "lost: what \($0.name) made" }
        }
        return found.sorted()
    }

    /// A value is lost if an older one is in its place.
    private func violation(
        of row: Row, _ field: String, _ bound: [Operation], _ known: [Operation]
    ) -> [String] {
        let value = row.values[field] ?? "-"
        guard let writer = known.first(where: { $0.name == value && $0.writes(field) }) else {
            return ["lost: \(row.record) has \(value) in \(field), which no operation wrote there"]
        }
        return bound.filter { $0.writes(field) && isLater($0, than: writer) }.map {
            "lost: what \($0.name) wrote, for the older \(value)"
        }
    }

    private func isLater(_ operation: Operation, than other: Operation) -> Bool {
        if operation.device != other.device {
            guard other.ended < .max else { return false }
            return operation.began > other.ended + Self.toleranceMilliseconds
        }
        return operation.position > other.position
    }

    private static func counts(_ names: [String]) -> [String: Int] {
        Dictionary(names.map { ($0, 1) }, uniquingKeysWith: +)
    }
}
