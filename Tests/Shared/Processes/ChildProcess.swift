import Foundation
import Synchronization

/// A separate process.
///
/// Started with `posix_spawn`: Foundation's `Process` on Linux reads past the end of a buffer when it
/// looks for open files, and crashes the tests if they have more than about 1,300.
///
/// A test that fails does not end what it started. What still runs when the tests end is killed then: it would keep
/// the tests' output open, for whose end `swift test` waits.
package final class ChildProcess: Sendable {
    package let identifier: pid_t
    private let status = Mutex<Int32?>(nil)
    private static let running = Mutex<Set<pid_t>>([])
    private static let killsAtExit: Void = {
        atexit {
            ChildProcess.running.withLock { for identifier in $0 { kill(identifier, SIGKILL) } }
        }
    }()

    /// Starts a program, which inherits no open files except these.
    ///
    /// - Parameters:
    ///   - command: The program, by its path or as found in `PATH`, and its arguments.
    ///   - input: nil for no input.
    ///   - output: nil to discard it.
    ///   - error: nil for the tests' standard error.
    ///   - environment: Variables in addition to the tests' own.
    package init(
        _ command: [String], input: FileHandle? = nil, output: FileHandle? = nil,
        error: FileHandle? = nil, environment: [String: String] = [:]
    ) throws {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for (handle, descriptor) in [(input, STDIN_FILENO), (output, STDOUT_FILENO)] {
            let handle = handle ?? .nullDevice
            posix_spawn_file_actions_adddup2(&actions, handle.fileDescriptor, descriptor)
        }
        if let error {
            posix_spawn_file_actions_adddup2(&actions, error.fileDescriptor, STDERR_FILENO)
        }
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        for descriptor in 3..<Int32(min(limit.rlim_cur, 16_384)) {
            posix_spawn_file_actions_addclose(&actions, descriptor)
        }
        let arguments = command.map { strdup($0) } + [nil]
        let variables = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        let environment = variables.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for text in arguments + environment { free(text) } }
        var identifier: pid_t = 0
        let failure = posix_spawnp(
            &identifier, command[0], &actions, nil, arguments, environment)
        guard failure == 0 else {
            throw POSIXError(POSIXErrorCode(rawValue: failure) ?? .ENOENT)
        }
        self.identifier = identifier
        Self.killsAtExit
        Self.running.withLock { _ = $0.insert(identifier) }
    }

    /// Sends a signal, or none for 0, and waits for the end.
    ///
    /// - Returns: the exit status; the signal's number if one ended it.
    @discardableResult
    package func end(with signal: Int32 = 0) -> Int32 {
        status.withLock { status in
            if let status { return status }
            if signal != 0 { kill(identifier, signal) }
            let ended = Self.wait(for: identifier)
            status = ended
            return ended
        }
    }

    /// Waits for the end of a process that the tests started.
    ///
    /// - Returns: the exit status; the signal's number if one ended it.
    @discardableResult
    package static func wait(for identifier: pid_t) -> Int32 {
        var word: Int32 = 0
        while waitpid(identifier, &word, 0) < 0, errno == EINTR {}
        running.withLock { _ = $0.remove(identifier) }
        return word & 0x7f == 0 ? (word >> 8) & 0xff : word & 0x7f
    }
}
