import Foundation
import TestProcesses
import Testing

/// A program in a separate terminal, and its user.
final class TerminalWindow {
    /// A text that was not drawn in time, and everything that was drawn.
    struct NotDrawn: Error, CustomStringConvertible {
        let text: String
        let shown: String
        var description: String {
            "Not drawn: \(text.debugDescription) in \(shown.debugDescription)"
        }
    }

    private static let waitMilliseconds: Int32 = 20_000

    let process: ChildProcess
    /// Everything that was drawn since the last ``forget()``.
    private(set) var shown = ""
    private let person: FileHandle

    init(
        _ command: [String], columns: UInt16, rows: UInt16, environment: [String: String] = [:]
    ) throws {
        var (leader, follower): (Int32, Int32) = (-1, -1)
        var size = winsize(ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
        try #require(openpty(&leader, &follower, nil, nil, &size) == 0)
        let terminal = FileHandle(fileDescriptor: follower, closeOnDealloc: true)
        person = FileHandle(fileDescriptor: leader, closeOnDealloc: true)
        process = try ChildProcess(
            command, input: terminal, output: terminal, error: terminal, environment: environment)
        try terminal.close()
    }

    /// Kills the program if its test failed.
    deinit { process.end(with: SIGKILL) }

    func type(_ text: String) throws { try type(Array(text.utf8)) }
    func type(_ bytes: [UInt8]) throws { try person.write(contentsOf: Data(bytes)) }
    func forget() { shown = "" }

    func resize(columns: UInt16, rows: UInt16) throws {
        var size = winsize(ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
        try #require(ioctl(person.fileDescriptor, UInt(TIOCSWINSZ), &size) == 0)
        // The program does not lead a session, so the terminal does not signal it.
        kill(process.identifier, SIGWINCH)
    }

    /// Reads what is drawn until a text appears.
    ///
    /// - Throws: ``NotDrawn`` if nothing more is drawn.
    func wait(for text: String) throws {
        while !shown.contains(text) {
            var readable = pollfd(
                fd: person.fileDescriptor, events: Int16(POLLIN), revents: 0)
            guard poll(&readable, 1, Self.waitMilliseconds) == 1,
                readable.revents & Int16(POLLIN) != 0
            else { throw NotDrawn(text: text, shown: shown) }
            shown += String(decoding: person.availableData, as: UTF8.self)
        }
    }
}
