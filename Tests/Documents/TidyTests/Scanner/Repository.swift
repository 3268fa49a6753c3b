import Foundation

/// The files of this repository, read once.
enum Repository {
    static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    static func text(_ path: String) throws -> String {
        try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
    }

    /// The paths of the files below a folder, in order.
    static func paths(below folder: String) -> [String] {
        let place = root.appendingPathComponent(folder).path
        return (FileManager.default.enumerator(atPath: place) ?? .init())
            .compactMap { ($0 as? String).map { "\(folder)/\($0)" } }
            .filter { !$0.contains("/.") }
            .sorted()
    }

    private static func swift(below folder: String) -> [SourceText] {
        paths(below: folder).filter { $0.hasSuffix(".swift") }.map { path in
            do {
                return SourceText(path: path, try text(path))
            } catch {
                preconditionFailure("\(path) cannot be read: \(error)")
            }
        }
    }

    /// The code that is built for users: Sources and Apps.
    static let sources = swift(below: "Sources") + swift(below: "Apps")
    static let tests = swift(below: "Tests")
    /// The package of the macros, next to this one.
    static let macros = swift(below: "Macros")
    /// The measurements and the examples, which are packages of their own.
    static let otherPackages = swift(below: "Benchmarks") + swift(below: "Examples")
    /// All Swift of this repository but the manifest.
    static let all = sources + tests + macros + otherPackages

    /// The paths of the programs and pages in other languages than Swift, and of the manifest.
    static let scripts: [String] = {
        let below = ["Apps", "Benchmarks", "Sources", "Tests"].flatMap(paths).filter { path in
            [".c", ".cpp", ".h", ".html", ".js", ".py", ".sh"].contains { path.hasSuffix($0) }
        }
        let scripts = paths(below: "Scripts").filter { !$0.contains("__pycache__") }
        return [".ci/run", "Package.swift"] + scripts + below
    }()

    /// The pages about the present state; the changelog and the decisions describe the past.
    static let documents: [String] = {
        let pages = ["README.md", "CONTRIBUTING.md", "Examples/README.md"]
        let below = ["Documentation", "Sources", "Apps", "Macros"].flatMap(paths)
            .filter { $0.hasSuffix(".md") && !$0.hasPrefix("Documentation/Decisions/") }
        return pages + below
    }()
}
