import ArgumentParser
import StratusSimulation

/// The kind of worlds to run.
struct Lane: ParsableArguments {
    @Flag(help: "Run worlds of mapped objects.") var mapped = false
    @Flag(help: "Run worlds with all files on disks that lose unsynchronised writes.")
    var files = false
    @Option(help: "A fault of the code under test, such as S1.") var mutation: Mutation?

    mutating func validate() throws {
        if mapped, files || mutation != nil {
            throw ValidationError(
                "--mapped was given with --files or --mutation, but its worlds are in memory and have no"
                    + " faults of the code. Leave one of them out.")
        }
    }

    /// The arguments for the same kind of worlds.
    var arguments: [String] {
        (mapped ? ["--mapped"] : []) + (files ? ["--files"] : [])
            + (mutation.map { ["--mutation", $0.rawValue] } ?? [])
    }

    /// The same as text, to be appended to a command.
    var suffix: String { arguments.map { " " + $0 }.joined() }

    func run(
        seed: UInt64, keeping kept: Set<Int>? = nil, keepsLines: Bool = false,
        table: FaultTable = FaultTable()
    ) -> SimulationOutcome {
        if mapped {
            return Simulation.runMapped(
                seed: seed, keeping: kept, keepsLines: keepsLines, table: table)
        }
        if files {
            return Simulation.runOnFiles(
                seed: seed, keeping: kept, keepsLines: keepsLines, mutation: mutation,
                table: table)
        }
        return Simulation.run(
            seed: seed, keeping: kept, keepsLines: keepsLines, mutation: mutation, table: table)
    }

    func story(ofSeed seed: UInt64) -> Shrinking.Story? {
        if mapped { return Shrinking.story(ofMappedSeed: seed) }
        if files { return Shrinking.story(ofSeedOnFiles: seed, mutation: mutation) }
        return Shrinking.story(ofSeed: seed, mutation: mutation)
    }
}
