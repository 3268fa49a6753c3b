import ArgumentParser
import Foundation
import Logging
import StratusRuntime
import StratusSimulation

/// Runs simulated worlds: `stratus-sim run --worlds 1000`, and again the one that failed:
/// `stratus-sim replay 4711`, or as a short story: `stratus-sim shrink 4711`.
@main
struct StratusSim: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stratus-sim",
        abstract: "Run simulated worlds of a service and its devices, each from a seed.",
        subcommands: [Run.self, Replay.self, Shrink.self, RunChunk.self])

    static func main() {
        StandardOutput.checkAtExit()
        main(nil)
    }

    /// With it, sets and dictionaries have the same order in every process, so that a seed always gives the same run.
    static let oneHashing = ["SWIFT_DETERMINISTIC_HASHING": "1"]

    /// Suppresses what caches and services log about intended faults.
    static func beQuiet() {
        LoggingSystem.bootstrap { _ in SwiftLogNoOpLogHandler() }
    }

    /// Starts this process again with one hashing, unless it has it.
    static func takeOneHashing() {
        for (name, value) in oneHashing where getenv(name) == nil {
            setenv(name, value, 1)
            var arguments = CommandLine.arguments.map { strdup($0) } + [nil]
            execv("/proc/self/exe", &arguments)
        }
    }

    struct Replay: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Run one world again, and print everything that happens in it.")

        @Argument(help: "The seed of the world.") var seed: UInt64
        @OptionGroup var lane: Lane
        @Option(help: "Keep only these steps, such as 3,7,12.") var steps: String?

        func run() throws {
            StratusSim.takeOneHashing()
            let kept = steps.map { Set($0.split(separator: ",").compactMap { Int($0) }) }
            let outcome = lane.run(seed: seed, keeping: kept, keepsLines: true)
            for line in outcome.lines { print(line) }
            for violation in outcome.violations { print("BROKEN: \(violation)") }
            print(
                "trace \(String(outcome.trace, radix: 16)), \(outcome.stepCount) steps, seed \(seed)"
            )
            if !outcome.violations.isEmpty { throw ExitCode.failure }
        }
    }

    struct Shrink: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print the shortest story that still breaks a promise.")

        @Argument(help: "The seed of the world.") var seed: UInt64
        @OptionGroup var lane: Lane

        func run() throws {
            StratusSim.takeOneHashing()
            StratusSim.beQuiet()
            guard let story = lane.story(ofSeed: seed) else {
                print("Seed \(seed) keeps every promise.")
                return
            }
            for (place, step) in zip(story.kept, story.steps) { print("\(place): \(step)") }
            for violation in story.violations { print("BROKEN: \(violation)") }
            let steps = story.kept.map { "\($0)" }.joined(separator: ",")
            print("To run it again: stratus-sim replay \(seed) --steps \(steps)\(lane.suffix)")
            throw ExitCode.failure
        }
    }

    /// Some worlds in a separate process, so that the memory that a world leaves is freed with it.
    struct RunChunk: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "chunk", shouldDisplay: false)

        @Option var seed: UInt64
        @Option var worlds: Int
        @OptionGroup var lane: Lane

        func run() throws {
            StratusSim.beQuiet()
            let table = FaultTable()
            var progress = Progress()
            for number in 0..<UInt64(worlds) {
                let outcome = lane.run(seed: seed + number, table: table)
                progress.worlds += 1
                progress.steps += outcome.planStepCount
                progress.requests += outcome.requestCount
                if !outcome.violations.isEmpty {
                    progress.failed[outcome.seed] = outcome.violations
                }
            }
            progress.table = table.rows
            FileHandle.standardOutput.write(try JSONEncoder().encode(progress))
        }
    }
}

extension Mutation: ExpressibleByArgument {}
