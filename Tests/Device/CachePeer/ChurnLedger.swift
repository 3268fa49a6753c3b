import Foundation

/// A file that logs a device's operations and their results. It outlives the process: written bytes belong to the
/// kernel.
///
/// A line is written before each operation and another one after it, so a reader knows which operation may have been
/// cut by a kill. Each line ends with a dot: a line without one was cut by a kill and counts as not written.
final class ChurnLedger {
    private let descriptor: Int32
    private let life: String
    private var count = 0
    /// Changes that are acknowledged but not made yet.
    private var kept: [() throws -> Void] = []
    /// Whether changes are acknowledged before they are made.
    var keepsChanges = false

    init(path: String, life: String) throws {
        descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        self.life = life
        // The last line of the file may have been cut.
        try append("")
        try append("life \(life)")
    }

    /// Runs an operation and passes it its name, such as `phone.3.17`.
    func write(
        _ kind: String, _ record: String, _ body: @escaping (String) throws -> Void
    ) throws {
        count += 1
        let operation = "\(life).\(count)"
        try append("begin \(operation) \(kind) \(record)")
        if keepsChanges {
            kept.append { try body(operation) }
            if kept.count == 8 {
                for change in kept { try change() }
                kept = []
            }
        } else {
            try body(operation)
        }
        try append("end \(operation)")
        CachePeer.say("saved")
    }

    /// Logs the records that the cache's file contained when this process started.
    func noteView(_ rows: [String]) throws {
        for row in rows { try append("row \(row)") }
        try append("view \(rows.count)")
    }

    private func append(_ text: String) throws {
        let milliseconds = Int64(Date().timeIntervalSince1970 * 1_000)
        let line = Array((text.isEmpty ? "\n" : "\(milliseconds) \(text) .\n").utf8)
        let written = line.withUnsafeBytes {
            Foundation.write(descriptor, $0.baseAddress, $0.count)
        }
        guard written == line.count else {
            throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
        }
    }
}
