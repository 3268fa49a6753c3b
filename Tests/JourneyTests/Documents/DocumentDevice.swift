#if os(Linux)
    import Foundation
    import TestProcesses

    /// A program in the style of the founding documents, in a separate process: one device of a
    /// user.
    ///
    /// The service's address and credentials are in its environment, not in its code.
    final class DocumentDevice {
        private let process: ChildProcess
        private let input: Pipe
        private let output: Pipe
        private var pending: [UInt8] = []
        /// All lines so far.
        private(set) var lines: [String] = []

        /// Launches a program and returns when it is ready.
        ///
        /// - Parameters:
        ///   - home: The folder that is kept between launches.
        ///   - executable: The executable that has the program.
        ///   - file: The argument in place of the program's name.
        convenience init(
            _ program: String, _ service: ServedInstance, user: String, device: String,
            home: TemporaryFolder, executable: String = "document-programs",
            file: String? = nil
        ) throws {
            try self.init(
                executable, [file ?? program],
                [
                    "STRATUS_URL": service.url, "STRATUS_DEV_USER": user,
                    "STRATUS_DEVICE_ID": device,
                    "STRATUS_CONTAINER": "iCloud.org.example.\(program)", "HOME": home.path,
                    "XDG_CONFIG_HOME": home.path, "XDG_CACHE_HOME": home.path,
                ])
            try wait(for: "ready")
        }

        /// Launches a program that prints when it is ready, or is ready at once.
        init(_ executable: String, _ arguments: [String], _ environment: [String: String]) throws {
            input = Pipe()
            output = Pipe()
            process = try ChildProcess(
                [BuiltProgram.named(executable).path] + arguments,
                input: input.fileHandleForReading, output: output.fileHandleForWriting,
                environment: environment)
            try input.fileHandleForReading.close()
            try output.fileHandleForWriting.close()
        }

        /// Ends the process at once.
        ///
        /// - Returns: The exit status, or the signal that ended it.
        @discardableResult
        func kill() -> Int32 {
            process.end(with: SIGKILL)
        }

        /// Taps, without waiting.
        func write(_ line: String) throws {
            try input.fileHandleForWriting.write(contentsOf: Data((line + "\n").utf8))
        }

        /// Taps, and waits for a line with this prefix.
        ///
        /// - Returns: the rest of that line.
        @discardableResult
        func tap(_ line: String, _ answer: String) throws -> String {
            try write(line)
            return try wait(for: answer)
        }

        /// Waits for a line with this prefix.
        ///
        /// - Returns: the rest of that line.
        @discardableResult
        func wait(for beginning: String) throws -> String {
            while true {
                let line = try nextLine(beginning)
                lines.append(line)
                if line.hasPrefix("failed") || line == "unknown" { throw Silence(lines: lines) }
                if line.hasPrefix(beginning) {
                    return line.dropFirst(beginning.count).trimmingCharacters(in: .whitespaces)
                }
            }
        }

        /// Closes the app as the user does.
        func quit() throws -> Int32 {
            try input.fileHandleForWriting.close()
            return process.end()
        }

        deinit {
            process.end(with: SIGKILL)
        }

        private static let patienceMilliseconds: Int32 = 30_000

        private func nextLine(_ wanted: String) throws -> String {
            while true {
                if let end = pending.firstIndex(of: UInt8(ascii: "\n")) {
                    defer { pending.removeSubrange(...end) }
                    return String(decoding: pending[..<end], as: UTF8.self)
                }
                let descriptor = output.fileHandleForReading.fileDescriptor
                var ready = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
                guard poll(&ready, 1, Self.patienceMilliseconds) == 1 else {
                    throw Silence(lines: lines + ["nothing that begins with \(wanted)"])
                }
                let piece = output.fileHandleForReading.availableData
                guard !piece.isEmpty else { throw Silence(lines: lines + ["the end"]) }
                pending += piece
            }
        }

        /// The program did not print the expected line; the lines that it printed.
        struct Silence: Error {
            let lines: [String]
        }
    }
#endif
