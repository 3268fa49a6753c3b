import Foundation

/// A real `stratus` command that has ended, and what it printed.
struct CommandRun {
    let status: Int32
    let output: String

    init(_ arguments: [String]) throws {
        let process = Process()
        process.executableURL = ServedInstance.executable(named: "stratus")
        process.arguments = arguments
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let data = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        self.output = String(decoding: data, as: UTF8.self)
        status = process.terminationStatus
    }
}
