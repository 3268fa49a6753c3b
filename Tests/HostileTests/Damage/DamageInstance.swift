import Foundation
import TestProcesses

/// A real `stratus serve` whose files are damaged while it runs, and its log.
final class DamageInstance {
    let port: Int
    private let process: ChildProcess
    private let logFile: String
    private var isEnded = false

    struct StartFailure: Error {
        let log: String
    }

    /// Starts the service on `folder`/data and returns when it listens.
    ///
    /// - Parameter wrapper: A command line before the service's own, such as one that mounts a disk.
    init(folder: String, wrapper: [String] = []) throws {
        let run = UUID().uuidString
        logFile = "\(folder)/\(run).log"
        let command =
            wrapper + [
                BuiltProgram.named("stratus").path, "serve", "--dev", "--port", "0", "--data",
                folder + "/data",
            ]
        let output = "\(folder)/\(run).out"
        for path in [output, logFile] {
            let isMade = FileManager.default.createFile(
                atPath: path, contents: nil, attributes: [.posixPermissions: 0o600])
            guard isMade else { throw POSIXError(.EIO) }
        }
        process = try ChildProcess(
            command, output: FileHandle(forWritingTo: URL(fileURLWithPath: output)),
            error: FileHandle(forWritingTo: URL(fileURLWithPath: logFile)))
        var listening: Int?
        // Waits for a line in a file by polling, since nothing announces it.
        for _ in 0..<2_000 where listening == nil {
            listening = Self.text(of: output).split(separator: "\n").first?
                .split(separator: ":").last.flatMap { Int($0) }
            var word: Int32 = 0
            if listening == nil, waitpid(process.identifier, &word, WNOHANG) == process.identifier {
                break
            }
            if listening == nil { usleep(10_000) }
        }
        guard let listening else {
            kill(process.identifier, SIGKILL)
            throw StartFailure(log: Self.text(of: logFile))
        }
        port = listening
    }

    deinit {
        end(with: SIGKILL)
    }

    var identifier: pid_t { process.identifier }

    /// Whether the process is running.
    var isAlive: Bool {
        var word: Int32 = 0
        return !isEnded && waitpid(process.identifier, &word, WNOHANG) == 0
    }

    /// The lines of its log.
    var log: [Substring] { Self.text(of: logFile).split(separator: "\n") }

    /// - Returns: The exit status; the signal's number if one ended it.
    @discardableResult
    func end(with signal: Int32 = SIGTERM) -> Int32 {
        isEnded = true
        return process.end(with: signal)
    }

    private static func text(of path: String) -> String {
        FileManager.default.contents(atPath: path).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }
}
