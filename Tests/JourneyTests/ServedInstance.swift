import Foundation

/// A real `stratus serve` in a process of its own.
final class ServedInstance: Sendable {
    let port: Int
    let dataFolder: String?
    private let process: ChildProcess
    /// Kept open: the service may say more than its first line.
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
            [Self.executable(named: "stratus").path, "serve", "--port", String(port)]
                + arguments + storage,
            output: output.fileHandleForWriting, error: standardError?.fileHandleForWriting)
        try output.fileHandleForWriting.close()
        try standardError?.fileHandleForWriting.close()
        self.output = output.fileHandleForReading
        let line = try Self.firstLine(of: output.fileHandleForReading)
        guard let port = line.split(separator: ":").last.flatMap({ Int($0) }) else {
            throw StartFailure(line: line)
        }
        self.port = port
    }

    /// Of the service's process.
    var processIdentifier: Int32 { process.identifier }

    var url: String { "http://127.0.0.1:\(port)" }

    /// Ends the process at once. What it wrote stays with the system; power cuts are in PowerCutTests.
    func kill() {
        process.end(with: SIGKILL)
    }

    /// Asks the service to stop and waits for it.
    ///
    /// - Returns: its exit status.
    func terminate() -> Int32 {
        process.end(with: SIGTERM)
    }

    /// Waits for a service that ends by itself.
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

    /// The products lie beside the test bundle.
    static func executable(named name: String) -> URL {
        var folder = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
        while folder.path != "/" {
            let candidate = folder.appendingPathComponent(name)
            if FileManager.default.isExecutableFile(atPath: candidate.path) { return candidate }
            folder.deleteLastPathComponent()
        }
        return URL(fileURLWithPath: ".build/debug/\(name)")
    }

    static func firstLine(of handle: FileHandle) throws -> String {
        var line: [UInt8] = []
        while let byte = try handle.read(upToCount: 1)?.first, byte != UInt8(ascii: "\n") {
            line.append(byte)
        }
        return String(decoding: line, as: UTF8.self)
    }
}

/// A folder that is gone when the test is over.
final class TemporaryFolder: Sendable {
    let path: String

    init() throws {
        path = NSTemporaryDirectory() + "stratus-" + UUID().uuidString
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700])
    }

    deinit {
        // A leftover in the temporary folder fails no test.
        try? FileManager.default.removeItem(atPath: path)
    }
}
