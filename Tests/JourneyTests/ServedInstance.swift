import Foundation
import TestProcesses

/// A real `stratus serve` in a separate process.
final class ServedInstance: Sendable {
    let port: Int
    let dataFolder: String?
    private let process: ChildProcess
    /// Kept open, since the service may print more than its first line.
    private let output: FileHandle

    /// Starts the service and returns when it listens.
    ///
    /// - Parameter dataFolder: Nil keeps the data in memory.
    init(
        dataFolder: String?, arguments: [String] = ["--dev"], port: Int = 0,
        standardError: Pipe? = nil
    ) throws {
        self.dataFolder = dataFolder
        let storage = dataFolder.map { ["--data", $0] } ?? ["--memory"]
        let output = Pipe()
        process = try ChildProcess(
            [BuiltProgram.named("stratus").path, "serve", "--port", String(port)]
                + arguments + storage,
            output: output.fileHandleForWriting, error: standardError?.fileHandleForWriting)
        try output.fileHandleForWriting.close()
        try standardError?.fileHandleForWriting.close()
        self.output = output.fileHandleForReading
        let line = try output.fileHandleForReading.readLine()
        guard let port = line.split(separator: ":").last.flatMap({ Int($0) }) else {
            throw StartFailure(line: line)
        }
        self.port = port
    }

    /// The identifier of the service's process.
    var processIdentifier: Int32 { process.identifier }

    var url: String { "http://127.0.0.1:\(port)" }

    /// Kills the process. The system keeps what it wrote; power cuts are tested in PowerCutTests.
    func kill() {
        process.end(with: SIGKILL)
    }

    /// Asks the service to stop and waits for it.
    ///
    /// - Returns: its exit status.
    func terminate() -> Int32 {
        process.end(with: SIGTERM)
    }

    /// Waits for a service that ends without being asked.
    ///
    /// - Returns: its exit status.
    func waitUntilExit() -> Int32 {
        process.end()
    }

    deinit {
        process.end(with: SIGKILL)
    }

    struct StartFailure: Error {
        let line: String
    }
}
