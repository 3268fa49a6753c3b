import Foundation
import TestProcesses

/// An example of a doc comment: its lines, and where they are.
struct DocCommentExample {
    /// Where an example stands when it is compiled, as its first line says.
    enum Place {
        /// The body of an asynchronous function that may throw.
        case function
        /// A type: the example begins with a function or a static property.
        case type
        /// A file: the example has an extension.
        case file
    }

    let path: String
    /// The number of the first line after the fence.
    let line: Int
    let lines: [String]

    var place: Place {
        if lines.contains(where: { $0.hasPrefix("extension ") }) { return .file }
        return ["func ", "static ", "@Test"].contains { lines.first?.hasPrefix($0) == true }
            ? .type : .function
    }

    /// The examples in the doc comments of a file of Swift.
    static func all(in text: String, path: String) -> [DocCommentExample] {
        var examples: [DocCommentExample] = []
        var block: (line: Int, lines: [String])?
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false)
            .enumerated()
        {
            let trimmed = line.drop { $0 == " " }
            guard trimmed.hasPrefix("///") else {
                block = nil
                continue
            }
            let content = trimmed.dropFirst(3)
            let shown = content.first == " " ? content.dropFirst() : content
            if let open = block {
                if shown == "```" {
                    examples.append(.init(path: path, line: open.line, lines: open.lines))
                    block = nil
                } else {
                    block?.lines.append(String(shown))
                }
            } else if shown == "```swift" {
                block = (index + 2, [])
            }
        }
        return examples
    }

    /// The example as Swift that is compiled, as one of a file's.
    func source(_ number: Int) -> String {
        let located =
            "#sourceLocation(file: \"\(path)\", line: \(line))\n"
            + lines.joined(separator: "\n") + "\n#sourceLocation()\n"
        return switch place {
        case .file: located
        case .type: "private struct Example\(number) {\n\(located)}\n"
        case .function: "private func example\(number)() async throws {\n\(located)}\n"
        }
    }
}

/// The compiler, with the modules that were built with the tests.
struct BuiltModules {
    /// The folder of the repository.
    let root: URL
    /// The folder that holds what was built.
    let built = BuiltProgram.named("stratus").deletingLastPathComponent()

    /// SwiftPM names the package, whose `package` symbols examples may use, by its folder.
    private var packageName: String {
        root.resolvingSymlinksInPath().lastPathComponent.lowercased()
            .replacing(/[^a-z0-9_]/, with: "_")
    }

    /// The maps of the modules in C, which the modules in Swift import.
    private func moduleMaps() throws -> [String] {
        let files = FileManager.default
        // By path: the contents by URL of a symbolic link, such as .build/debug, are empty.
        func paths(in folder: String) throws -> [String] {
            guard files.fileExists(atPath: folder) else { return [] }
            return try files.contentsOfDirectory(atPath: folder).map { "\(folder)/\($0)" }
        }
        let made = try paths(in: built.path).filter { $0.hasSuffix(".build") }
        let fetched = try paths(in: root.appendingPathComponent(".build/checkouts").path)
            .flatMap { try paths(in: $0 + "/Sources") }
            .flatMap { [$0, $0 + "/include"] }
        return (made + fetched).map { $0 + "/module.modulemap" }
            .filter { files.fileExists(atPath: $0) }.sorted()
    }

    /// Compiles files together in one process, without an output, and returns what the compiler finds wrong, a line each.
    ///
    /// What an example makes and does not use is for the reader.
    func diagnostics(of sources: [String: String]) throws -> [String] {
        let folder = try TemporaryFolder()
        let paths = try sources.map { name, text in
            let path = "\(folder.path)/\(name).swift"
            try text.write(toFile: path, atomically: false, encoding: .utf8)
            return path
        }
        let outputPath = folder.path + "/output"
        try Data().write(to: URL(fileURLWithPath: outputPath))
        let output = try FileHandle(forWritingTo: URL(fileURLWithPath: outputPath))
        let maps = try moduleMaps().flatMap { ["-Xcc", "-fmodule-map-file=\($0)"] }
        // Not only type-checked: races and values without a start are found after that.
        let compiler = try ChildProcess(
            [
                "swiftc", "-emit-sil", "-o", "/dev/null", "-wmo", "-parse-as-library",
                "-swift-version", "6", "-module-name", "DocCommentExamples", "-package-name",
                packageName, "-I", built.appendingPathComponent("Modules").path,
                "-module-cache-path", built.appendingPathComponent("ModuleCache").path,
            ] + maps + paths.sorted(), error: output)
        let status = compiler.end()
        try output.close()
        let lines = try String(contentsOfFile: outputPath, encoding: .utf8)
            .split(separator: "\n").map(String.init)
        let found = lines.filter { line in
            if line.contains(": warning: ") {
                return !line.hasSuffix("[#no-usage]") && !line.contains("'#fileID'")
            }
            return line.contains(": error: ") || line.hasPrefix("error: ")
        }
        return status == 0 || !found.isEmpty
            ? found : ["swiftc ended with status \(status): \(lines.joined(separator: "\n"))"]
    }
}
