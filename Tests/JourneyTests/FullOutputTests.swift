#if os(Linux)
    import Foundation
    import TestProcesses
    import Testing

    /// What a program prints to a full disk is not taken for all of it.
    @Suite struct FullOutputTests {
        /// All programs are given `help` on standard input.
        @Test(arguments: [
            "stratus limits", "stratus --help", "stratus-login --help", "shopping do help",
            "shopping --prompt", "notes do help",
        ]) func outputOnFullDiskFails(command: String) throws {
            let words = command.split(separator: " ").map(String.init)
            let home = try TemporaryFolder()
            let run = try ChildProcess.runIntoFullDisk(
                words[0], Array(words.dropFirst()), input: "help\n",
                environment: ["XDG_DATA_HOME": home.path])
            #expect(run.status == 1)
            #expect(run.error.hasPrefix("Error: The output was not written"), "\(run.error)")
        }

        /// A reader such as `head` closes its pipe when it has read enough.
        @Test func outputWithoutReaderIsNotReported() throws {
            let (output, errors) = (Pipe(), Pipe())
            try output.fileHandleForReading.close()
            let process = try ChildProcess(
                [
                    "sh", "-c", #"trap "" PIPE; exec "$0" limits"#,
                    BuiltProgram.named("stratus").path,
                ], output: output.fileHandleForWriting, error: errors.fileHandleForWriting)
            try errors.fileHandleForWriting.close()
            let text = try errors.fileHandleForReading.readToEnd() ?? Data()
            #expect(process.end() == 0)
            #expect(String(decoding: text, as: UTF8.self) == "")
        }
    }
#endif
