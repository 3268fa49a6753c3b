import Foundation
import TestProcesses

/// A real `stratus` command that has ended, and what it printed.
struct CommandRun {
    let status: Int32
    let output: String

    enum Reading { case output, errors }

    init(_ arguments: [String], reading: Reading = .output) throws {
        let output = Pipe()
        let handle = output.fileHandleForWriting
        let process = try ChildProcess(
            [BuiltProgram.named("stratus").path] + arguments,
            output: reading == .output ? handle : nil, error: reading == .errors ? handle : nil)
        try output.fileHandleForWriting.close()
        let data = try output.fileHandleForReading.readToEnd() ?? Data()
        self.output = String(decoding: data, as: UTF8.self)
        status = process.end()
    }
}
