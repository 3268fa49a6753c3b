import Foundation
import Synchronization
import TestProcesses

/// A real `stratus serve` in a separate process, to be attacked over its sockets.
///
/// Started with `posix_spawn`, because Foundation's `Process` on Linux cannot handle many open files.
final class AttackedService: Sendable {
    let port: Int
    let processIdentifier: pid_t
    private let output: FileHandle
    private let errors: FileHandle
    private let isEnded = Mutex(false)

    /// Starts the service and returns when it listens.
    init(_ arguments: [String], storage: [String] = ["--memory"]) throws {
        let output = Pipe()
        let errors = Pipe()
        processIdentifier = try Self.spawn(
            ["serve", "--port", "0"] + arguments + storage,
            output: output.fileHandleForWriting, errors: errors.fileHandleForWriting)
        try output.fileHandleForWriting.close()
        try errors.fileHandleForWriting.close()
        self.output = output.fileHandleForReading
        self.errors = errors.fileHandleForReading
        let line = try output.fileHandleForReading.readLine()
        guard let port = line.split(separator: ":").last.flatMap({ Int($0) }) else {
            let said = try errors.fileHandleForReading.readToEnd() ?? Data()
            ChildProcess.wait(for: processIdentifier)
            throw StartFailure(sentence: String(decoding: said, as: UTF8.self))
        }
        self.port = port
    }

    /// Why a service did not start.
    struct StartFailure: Error {
        let sentence: String
    }

    deinit {
        end()
    }

    /// Ends the service.
    ///
    /// - Returns: its standard error.
    @discardableResult
    func end() -> String {
        let wasEnded = isEnded.withLock { isEnded in
            defer { isEnded = true }
            return isEnded
        }
        guard !wasEnded else { return "" }
        kill(processIdentifier, SIGKILL)
        ChildProcess.wait(for: processIdentifier)
        // Output that cannot be read counts as empty.
        let said = (try? errors.readToEnd()) ?? Data()
        return String(decoding: said, as: UTF8.self)
    }

    func signal(_ number: Int32) {
        kill(processIdentifier, number)
    }

    /// The next line of standard error.
    func errorLine() throws -> String {
        try errors.readLine()
    }

    /// The process's memory in megabytes (VmRSS).
    func residentMegabytes() throws -> Int {
        let status = try String(
            contentsOfFile: "/proc/\(processIdentifier)/status", encoding: .utf8)
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") } ?? ""
        return (line.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0) / 1_024
    }

    // MARK: Processes

    /// Runs a `stratus` command until it ends.
    static func run(_ arguments: [String]) throws -> (status: Int32, output: String) {
        let output = Pipe()
        let identifier = try spawn(
            arguments, output: output.fileHandleForWriting, errors: output.fileHandleForWriting)
        try output.fileHandleForWriting.close()
        let data = try output.fileHandleForReading.readToEnd() ?? Data()
        return (ChildProcess.wait(for: identifier), String(decoding: data, as: UTF8.self))
    }

    static func spawn(
        _ arguments: [String], input: Int32? = nil, output: FileHandle, errors: FileHandle
    ) throws -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        let null = FileHandle.nullDevice.fileDescriptor
        posix_spawn_file_actions_adddup2(&actions, input ?? null, STDIN_FILENO)
        posix_spawn_file_actions_adddup2(&actions, output.fileDescriptor, STDOUT_FILENO)
        posix_spawn_file_actions_adddup2(&actions, errors.fileDescriptor, STDERR_FILENO)
        for name in try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd") {
            guard let descriptor = Int32(name), descriptor > 2 else { continue }
            posix_spawn_file_actions_addclose(&actions, descriptor)
        }
        let words = ([executable.path] + arguments).map { strdup($0) } + [nil]
        defer { for word in words { free(word) } }
        var identifier: pid_t = 0
        let failure = posix_spawn(
            &identifier, executable.path, &actions, nil, words, environ)
        guard failure == 0 else { throw POSIXError(.init(rawValue: failure) ?? .ENOENT) }
        return identifier
    }

    /// The built `stratus`; `STRATUS_PROGRAM` names another build to attack.
    static var executable: URL {
        if let path = ProcessInfo.processInfo.environment["STRATUS_PROGRAM"] {
            return URL(fileURLWithPath: path)
        }
        return BuiltProgram.named("stratus")
    }
}

/// Whether the long forms of the attacks run.
let isLongForm = ProcessInfo.processInfo.environment["STRATUS_LONG"] == "1"

/// A folder that is removed after the test.
final class AttackedFolder: Sendable {
    let path = NSTemporaryDirectory() + "stratus-attacked-" + UUID().uuidString

    deinit {
        // Failing to remove a temporary folder must not fail the test.
        try? FileManager.default.removeItem(atPath: path)
    }
}
