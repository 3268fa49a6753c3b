import Foundation
import StratusRecords
import Testing

@Suite struct NamedLimitTests {
    @Test func everyLimitPropertyHasOneName() {
        let properties = Mirror(reflecting: Limits()).children.compactMap(\.label)
        #expect(NamedLimit.all.map(\.name).sorted() == properties.sorted())
    }

    /// Each name sets its own property and no other.
    @Test func everyLimitNameSetsItsOwnProperty() throws {
        for limit in NamedLimit.all {
            var limits = Limits()
            let text = limit.range.contains(17) ? "17" : "0.5"
            #expect(limit.text(in: limits) != text)
            try limit.set(text, in: &limits)
            for child in Mirror(reflecting: limits).children {
                let value = child.label.flatMap { label in
                    Mirror(reflecting: Limits()).children.first { $0.label == label }?.value
                }
                let isChanged = "\(child.value)" != value.map { "\($0)" }
                #expect(isChanged == (child.label == limit.name), "\(limit.name)")
            }
            #expect(limit.text(in: limits) == text)
        }
    }

    @Test func defaultLimitsAreInTheirRanges() throws {
        for limit in NamedLimit.all {
            var limits = Limits()
            try limit.set(limit.text(in: limits), in: &limits)
            #expect(limits == Limits(), "\(limit.name)")
        }
    }

    @Test func limitAssignmentIsParsed() throws {
        var limits = Limits()
        try NamedLimit.set("recordsPerPage=50", in: &limits)
        try NamedLimit.set("publicRecordBytes=1_000_000", in: &limits)
        try NamedLimit.set("longPollSeconds=1.5", in: &limits)
        #expect(limits.recordsPerPage == 50)
        #expect(limits.publicRecordBytes == 1_000_000)
        #expect(limits.longPollSeconds == 1.5)
    }

    @Test(arguments: [
        "", "=", "recordsPerPage", "recordsPerPage=", "recordsPerPage=0", "recordsPerPage=-1",
        "recordsPerPage=1.5", "recordsPerPage=99999999999999999999", "recordsPerpage=1",
        "fieldsPerRecord=5000", "longPollSeconds=0", "longPollSeconds=nan", "longPollSeconds=inf",
        "recordsPerPage=0x10",
    ])
    func invalidAssignmentIsRefusedAndChangesNothing(_ assignment: String) {
        var limits = Limits()
        #expect(throws: NamedLimit.Refusal.self) { try NamedLimit.set(assignment, in: &limits) }
        #expect(limits == Limits())
    }

    /// The operator's table matches the code exactly.
    @Test func documentedLimitsMatchTheCode() throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let text = try String(
            contentsOf: root.appendingPathComponent("Documentation/Operations.md"),
            encoding: .utf8)
        let lines = text.split(separator: "\n").map(String.init)
        let head = try #require(lines.firstIndex { $0.hasPrefix("| name | default | unit |") })
        let table = lines[(head + 2)...].prefix { $0.hasPrefix("|") }
        let wanted = NamedLimit.all.map { limit in
            "| `\(limit.name)` | \(limit.text(in: Limits())) | \(limit.unit.rawValue) | "
                + "\(limit.meaning) | \(limit.source) |"
        }
        #expect(Array(table) == wanted)
    }
}
