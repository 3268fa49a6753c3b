import Foundation
import TestProcesses

/// The process `cache-peer`, driven line by line.
final class Peer: Sendable {
    private let process: ChildProcess
    private let input = Pipe()
    private let output = Pipe()
    private let lines = DispatchQueue(label: "peer")

    convenience init(_ path: String) throws { try self.init([path]) }

    init(_ arguments: [String], environment: [String: String] = [:]) throws {
        var folder = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
        while folder.path != "/",
            !FileManager.default.isExecutableFile(
                atPath: folder.appendingPathComponent("cache-peer").path)
        {
            folder.deleteLastPathComponent()
        }
        process = try ChildProcess(
            [folder.appendingPathComponent("cache-peer").path] + arguments,
            input: input.fileHandleForReading, output: output.fileHandleForWriting,
            environment: environment)
        // These ends belong to the process: after it ends, nothing more can be read.
        for end in [input.fileHandleForReading, output.fileHandleForWriting] { try end.close() }
    }

    deinit { end() }

    /// Kills the process and waits for its end.
    ///
    /// - Returns: The signal that ended it, or its exit status if it had already ended.
    @discardableResult
    func end() -> Int32 { process.end(with: SIGKILL) }

    /// Sends a line and reads one.
    func answer(to line: String? = nil) async -> String {
        await withCheckedContinuation { continuation in
            lines.async { [input, output] in
                if let line { input.fileHandleForWriting.write(Data((line + "\n").utf8)) }
                var bytes: [UInt8] = []
                while let byte = output.fileHandleForReading.readData(ofLength: 1).first,
                    byte != UInt8(ascii: "\n")
                {
                    bytes.append(byte)
                }
                continuation.resume(returning: String(decoding: bytes, as: UTF8.self))
            }
        }
    }

    /// Kills the process.
    ///
    /// - Returns: The complete lines that it wrote before.
    func killed() async -> [String] {
        end()
        return await withCheckedContinuation { continuation in
            lines.async { [output] in
                let rest = output.fileHandleForReading.readDataToEndOfFile()
                let lines = String(decoding: rest, as: UTF8.self).split(
                    separator: "\n", omittingEmptySubsequences: false)
                continuation.resume(returning: lines.dropLast().map { String($0) })
            }
        }
    }
}
