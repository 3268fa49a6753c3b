import Foundation

/// The process `cache-peer`, line by line.
final class Peer: Sendable {
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()
    private let lines = DispatchQueue(label: "peer")

    convenience init(_ path: String) throws { try self.init([path]) }

    init(_ arguments: [String]) throws {
        var folder = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
        while folder.path != "/",
            !FileManager.default.isExecutableFile(
                atPath: folder.appendingPathComponent("cache-peer").path)
        {
            folder.deleteLastPathComponent()
        }
        process.executableURL = folder.appendingPathComponent("cache-peer")
        process.arguments = arguments
        process.standardInput = input
        process.standardOutput = output
        try process.run()
    }

    deinit { end() }

    /// Kills the process, which is gone when this returns.
    func end() {
        guard process.isRunning else { return }
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }

    /// Sends a line, and reads one.
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
    /// - Returns: what it said before, whole lines only.
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
