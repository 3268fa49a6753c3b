import Foundation

/// What all devices did and were answered, from the ledgers of their processes, and what must be so therefore.
///
/// Each value of a record is the name of the operation that wrote it, so that a value says where it is from.
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
        /// Among those of its device.
        let position: Int
        /// Whether the device was answered; else the process was killed meanwhile, and it may have happened or not.
        var isAcknowledged = false
        /// When it was over at the latest.
        var ended = Int64.max

        func writes(_ field: String) -> Bool { kind == .make || kind == .edit(field) }
    }

    struct Row: Equatable {
        let record: String
        /// Of the fields by their names.
        let values: [String: String]
    }

    /// What a device's file had when a process opened it.
    struct View {
        let life: String
        let time: Int64
        /// How many of the device's operations came before.
        let position: Int
        let rows: [Row]
    }

    static let fields = ["key", "a", "b"]
    /// Two devices' clocks are the machine's, and as the service's answers correct them.
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
                // The process before had ended by now.
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

    /// - Parameter words: the record's name and its values, as a process says them.
    static func row(_ words: some Sequence<String>) -> Row {
        let words = Array(words)
        return Row(
            record: words.first ?? "",
            values: Dictionary(zip(fields, words.dropFirst()), uniquingKeysWith: { $1 }))
    }

    // MARK: What must be so

    /// What is wrong with what a device or the service has in the end, when everything is synced.
    func violations(atEnd rows: [Row]) -> [String] {
        violations(rows, isPossible: { _ in true }, isBinding: { _ in true })
    }

    /// What is wrong with what a process found in its file.
    ///
    /// What this device was answered must be there. What others did may have come or not.
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
    ///   - isBinding: Whether such a one must be, as far as it was acknowledged.
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
                found.append("doubled: nobody made \(row)")
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

    /// A value is lost where an older one is in its place.
    private func violation(
        of row: Row, _ field: String, _ bound: [Operation], _ known: [Operation]
    ) -> [String] {
        let value = row.values[field] ?? "-"
        guard let writer = known.first(where: { $0.name == value && $0.writes(field) }) else {
            return ["lost: \(row.record) has \(value) in \(field), which nobody wrote there"]
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
