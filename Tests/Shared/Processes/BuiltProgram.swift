import Foundation

/// The programs of the package, which are next to the test bundle.
package enum BuiltProgram {
    package static func named(_ name: String) -> URL {
        var folder = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
        while folder.path != "/" {
            let candidate = folder.appendingPathComponent(name)
            if FileManager.default.isExecutableFile(atPath: candidate.path) { return candidate }
            folder.deleteLastPathComponent()
        }
        return URL(fileURLWithPath: ".build/debug/\(name)")
    }
}

extension FileHandle {
    /// Waits for the next line of a program's output, or for its end.
    package func readLine() throws -> String {
        var line: [UInt8] = []
        while let byte = try read(upToCount: 1)?.first, byte != UInt8(ascii: "\n") {
            line.append(byte)
        }
        return String(decoding: line, as: UTF8.self)
    }
}
