#if os(Linux)
    import Foundation
    import TestProcesses
    import Testing

    /// The script `test`, with other programs in place of Swift and of the other scripts.
    @Suite struct TestScriptTests {
        private static let root = URL(fileURLWithPath: #filePath)
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

        /// Runs the script for the tests of one name.
        ///
        /// - Parameter line: What the test program prints at its end.
        private func run(filter: String, printing line: String) throws -> (Int32, output: String) {
            let folder = try TemporaryFolder()
            let files = FileManager.default
            for name in ["bin", "Scripts"] {
                try files.createDirectory(
                    atPath: "\(folder.path)/\(name)", withIntermediateDirectories: true)
            }
            for name in ["test", "flags", "failures", "progress"] {
                try files.copyItem(
                    atPath: Self.root.appendingPathComponent("Scripts/\(name)").path,
                    toPath: "\(folder.path)/Scripts/\(name)")
            }
            for name in ["install", "dependencies", "symbols", "modules", "bench"] {
                try files.createSymbolicLink(
                    atPath: "\(folder.path)/Scripts/\(name)", withDestinationPath: "/bin/true")
            }
            // Swift is a shell here, which takes the commands of Swift from files of these names.
            try files.createSymbolicLink(
                atPath: "\(folder.path)/bin/swift", withDestinationPath: "/bin/sh")
            for (name, text) in ["format": "", "build": "", "test": "echo '\(line)'\n"] {
                try Data(text.utf8).write(to: URL(fileURLWithPath: "\(folder.path)/\(name)"))
            }
            let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
            let output = Pipe()
            let process = try ChildProcess(
                ["bash", "\(folder.path)/Scripts/test", "--filter", filter],
                output: output.fileHandleForWriting,
                environment: ["PATH": "\(folder.path)/bin:\(path)"])
            try output.fileHandleForWriting.close()
            let text = try output.fileHandleForReading.readToEnd() ?? Data()
            return (process.end(), String(decoding: text, as: UTF8.self))
        }

        @Test(arguments: ["✔ Test run with 0 tests in 0 suites passed after 0.001 seconds.", ""])
        func nameThatNoTestHasFails(line: String) throws {
            let (status, output) = try run(filter: "NoSuchTests", printing: line)
            #expect(status == 1)
            #expect(output.contains("no test has a name that matches --filter NoSuchTests"))
            #expect(!output.contains("Everything passed"), "\(output)")
        }

        @Test func nameOfATestPasses() throws {
            let (status, output) = try run(
                filter: "SomeTests",
                printing: "✔ Test run with 12 tests in 1 suite passed after 0.001 seconds.")
            #expect(status == 0)
            #expect(output.contains("Everything passed"), "\(output)")
        }
    }
#endif
