import ArgumentParser
import Foundation
import StratusCache
import StratusRuntime

/// Inspects the file of a `CloudCache`, even while an app has it open, without changing it.
@main
struct StratusCacheCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stratus-cache", abstract: "Inspect the file of a CloudCache.",
        subcommands: [Inspect.self])

    static func main() {
        StandardOutput.checkAtExit()
        main(nil)
    }

    /// Prints the queue, the tokens, the history and the sizes of a file.
    struct Inspect: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print a cache file's queue, tokens, history and sizes.",
            discussion: """
                An app may have the file open, and nothing is changed. With --verify, read the whole file and \
                print what is wrong with it; the exit status is then 1.
                """)

        @Argument(help: "The path of the cache file.") var file: String
        @Flag(help: "Check the file for damage and violated invariants.") var verify = false
        @Flag(help: "Print JSON.") var json = false
        @Flag(help: "Print the values of pending changes, which are the user's data.")
        var values = false

        func run() throws {
            let (report, violations) = try CacheInspection.look(atFile: file) { inspection in
                (
                    verify
                        ? nil
                        : try inspection.report(made: now, includingValues: values),
                    verify ? try inspection.violations() : []
                )
            }
            if let report {
                print(json ? String(decoding: try report.json(), as: UTF8.self) : report.text)
                return
            }
            for violation in violations { print(violation) }
            guard violations.isEmpty else { throw ExitCode(1) }
            print("Nothing is wrong with \(file).")
        }

        private var now: Date { World.live.now }
    }
}
