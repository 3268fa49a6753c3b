import Foundation

extension ChildProcess {
    /// Runs a program whose output takes nothing, like a file on a full disk.
    ///
    /// - Parameter input: What the program can read; at most some thousand bytes.
    package static func runIntoFullDisk(
        _ program: String, _ arguments: [String], input: String = "",
        environment: [String: String] = [:]
    ) throws -> (status: Int32, error: String) {
        guard let full = FileHandle(forWritingAtPath: "/dev/full") else {
            throw POSIXError(.ENOENT)
        }
        let (lines, errors) = (Pipe(), Pipe())
        try lines.fileHandleForWriting.write(contentsOf: Data(input.utf8))
        try lines.fileHandleForWriting.close()
        let process = try ChildProcess(
            [BuiltProgram.named(program).path] + arguments, input: lines.fileHandleForReading,
            output: full, error: errors.fileHandleForWriting, environment: environment)
        try errors.fileHandleForWriting.close()
        let text = try errors.fileHandleForReading.readToEnd() ?? Data()
        return (process.end(), String(decoding: text, as: UTF8.self))
    }
}
