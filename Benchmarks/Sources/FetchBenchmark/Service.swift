import Foundation

/// `stratus serve --dev --memory` in a separate process, without rate limits.
final class Service {
    let url: String
    private let process = Process()

    /// Starts the executable next to this one, and returns when it listens.
    init() throws {
        let names = [
            "requestsPerSecond", "requestsInBurst", "requestsPerSecondPerAddress",
            "requestsInBurstPerAddress",
        ]
        process.executableURL = Self.folder.appendingPathComponent("stratus")
        process.arguments =
            ["serve", "--dev", "--memory", "--port", "0"]
            + names.flatMap { ["--limit", "\($0)=1000000"] }
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        var line = ""
        while let byte = try output.fileHandleForReading.read(upToCount: 1)?.first,
            byte != UInt8(ascii: "\n")
        {
            line.unicodeScalars.append(Unicode.Scalar(byte))
        }
        guard let start = line.range(of: "http://") else { throw Failure(text: line) }
        url = String(line[start.lowerBound...])
    }

    func stop() {
        process.terminate()
        process.waitUntilExit()
    }

    /// Runs this executable again, so that its memory is that of one fetch.
    ///
    /// - Returns: the numbers that it printed.
    func measure(_ arguments: [String]) throws -> [Double] {
        let child = Process()
        child.executableURL = Self.folder.appendingPathComponent("FetchBenchmark")
        child.arguments = arguments + [url]
        let output = Pipe()
        child.standardOutput = output
        try child.run()
        let text = String(
            decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        child.waitUntilExit()
        let numbers = text.split(whereSeparator: \.isWhitespace).compactMap { Double($0) }
        guard child.terminationStatus == 0, !numbers.isEmpty else { throw Failure(text: text) }
        return numbers
    }

    private static let folder = URL(fileURLWithPath: CommandLine.arguments[0])
        .resolvingSymlinksInPath().deletingLastPathComponent()
}

struct Failure: Error {
    let text: String
}
