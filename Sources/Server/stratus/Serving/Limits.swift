import ArgumentParser
import StratusRecords

/// `stratus limits`: what can be set with `stratus serve --limit`.
struct ListLimits: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "limits",
        abstract: "List the service's limits with their defaults.",
        discussion: "Set them with `stratus serve --limit name=value`, once for each.")

    func run() {
        print(Self.table(of: Limits()))
    }

    /// One line per limit: name, value, unit, what it limits, where the default is from.
    static func table(of limits: Limits) -> String {
        let rows = NamedLimit.all.map { limit in
            [
                limit.name, limit.text(in: limits), limit.unit.rawValue, limit.meaning,
                "(\(limit.source))",
            ]
        }
        let widths = (0..<3).map { column in rows.map { $0[column].count }.max() ?? 0 }
        return rows.map { row in
            let cells = row.enumerated().map { column, cell in
                column < widths.count
                    ? cell + String(repeating: " ", count: widths[column] - cell.count) : cell
            }
            return cells.joined(separator: "  ")
        }.joined(separator: "\n")
    }
}

extension Limits {
    /// The defaults of a service for development: high rates, because a developer is usually its only client.
    static var development: Limits {
        var limits = Limits()
        limits.requestsPerSecond = 2_000
        limits.requestsInBurst = 20_000
        limits.requestsPerSecondPerAddress = 10_000
        limits.requestsInBurstPerAddress = 100_000
        for bytes in [
            \Limits.transferBytesPerSecond, \.transferBytesInBurst,
            \.transferBytesPerSecondPerAddress, \.transferBytesInBurstPerAddress,
            \.transferBytesPerSecondPerToken, \.transferBytesInBurstPerToken,
        ] {
            limits[keyPath: bytes] = 1 << 50
        }
        return limits
    }

    /// Applies the values of `--limit`.
    ///
    /// - Throws: `ValidationError` for an unknown limit, or a value that it cannot have.
    mutating func set(_ assignments: [String]) throws {
        for assignment in assignments {
            do {
                try NamedLimit.set(assignment, in: &self)
            } catch {
                throw ValidationError(error.sentence)
            }
        }
    }
}
