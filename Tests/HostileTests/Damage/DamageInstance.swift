import Foundation

/// A real `stratus serve` whose files are damaged behind its back, and what it logs.
final class DamageInstance {
    let port: Int
    private let process: pid_t
    private let logFile: String
    private var status: Int32?

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
                Self.executable.path, "serve", "--dev", "--port", "0", "--data", folder + "/data",
            ]
        let output = "\(folder)/\(run).out"
        process = try Self.spawn(command, output: output, error: logFile)
        var listening: Int?
        // The event is a line in a file, which nothing announces.
        for _ in 0..<2_000 where listening == nil {
            listening = Self.text(of: output).split(separator: "\n").first?
                .split(separator: ":").last.flatMap { Int($0) }
            var word: Int32 = 0
            if listening == nil, waitpid(process, &word, WNOHANG) == process { break }
            if listening == nil { usleep(10_000) }
        }
        guard let listening else {
            kill(process, SIGKILL)
            throw StartFailure(log: Self.text(of: logFile))
        }
        port = listening
    }

    deinit {
        end(with: SIGKILL)
    }

    var identifier: pid_t { process }

    /// Whether the process is there.
    var isAlive: Bool {
        var word: Int32 = 0
        return status == nil && waitpid(process, &word, WNOHANG) == 0
    }

    /// What it has logged, line by line.
    var log: [Substring] { Self.text(of: logFile).split(separator: "\n") }

    /// - Returns: The exit status; the signal's number if one ended it.
    @discardableResult
    func end(with signal: Int32 = SIGTERM) -> Int32 {
        if let status { return status }
        kill(process, signal)
        var word: Int32 = 0
        while waitpid(process, &word, 0) < 0, errno == EINTR {}
        let ended = word & 0x7f == 0 ? (word >> 8) & 0xff : word & 0x7f
        status = ended
        return ended
    }

    private static func text(of path: String) -> String {
        FileManager.default.contents(atPath: path).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }

    /// The product lies beside the test bundle.
    private static var executable: URL {
        var folder = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
        while folder.path != "/" {
            let candidate = folder.appendingPathComponent("stratus")
            if FileManager.default.isExecutableFile(atPath: candidate.path) { return candidate }
            folder.deleteLastPathComponent()
        }
        return URL(fileURLWithPath: ".build/debug/stratus")
    }

    private static func spawn(_ command: [String], output: String, error: String) throws -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        for (path, descriptor) in [(output, STDOUT_FILENO), (error, STDERR_FILENO)] {
            posix_spawn_file_actions_addopen(
                &actions, descriptor, path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        }
        let arguments = command.map { strdup($0) } + [nil]
        let variables = ProcessInfo.processInfo.environment
        let environment = variables.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for text in arguments + environment { free(text) } }
        var identifier: pid_t = 0
        let failure = posix_spawnp(
            &identifier, command[0], &actions, nil, arguments, environment)
        guard failure == 0 else {
            throw POSIXError(POSIXErrorCode(rawValue: failure) ?? .ENOENT)
        }
        return identifier
    }
}

/// A folder that is gone when the test is over.
final class DamageFolder {
    let path: String

    init() throws {
        path = NSTemporaryDirectory() + "stratus-damage-" + UUID().uuidString
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700])
    }

    deinit {
        // A leftover in the temporary folder fails no test.
        try? FileManager.default.removeItem(atPath: path)
    }
}
