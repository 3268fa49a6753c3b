import Foundation

/// A real `stratus` command that has ended, and what it printed.
struct CommandRun {
    let status: Int32
    let output: String

    init(_ arguments: [String]) throws {
        let output = Pipe()
        let process = try ChildProcess(
            [ServedInstance.executable(named: "stratus").path] + arguments,
            output: output.fileHandleForWriting)
        try output.fileHandleForWriting.close()
        let data = try output.fileHandleForReading.readToEnd() ?? Data()
        self.output = String(decoding: data, as: UTF8.self)
        status = process.end()
    }
}
