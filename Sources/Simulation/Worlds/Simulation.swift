import StratusCache
import StratusClient
import StratusRecords
import StratusSync
import StratusTesting

/// The outcome of a simulated world.
public struct SimulationOutcome: Sendable {
    /// The seed of the world; the same seed and steps give the same outcome.
    public var seed: UInt64
    /// The promises that were broken; empty if there are none.
    public var violations: [String]
    /// A hash of the run, the same for two equal runs.
    public var trace: UInt64
    /// What happened, in order; only if requested.
    public var lines: [String]
    /// How many requests the service answered.
    public var requestCount: Int
    /// How many steps of its plan were executed.
    public var planStepCount = 0
    /// How many steps of tasks ran.
    public var stepCount = 0
}

/// One simulated world: the real service and real caches in memory, on one executor, from one seed.
///
/// ```swift
/// let outcome = Simulation.run(seed: 7)
/// print(outcome.violations)
/// ```
public enum Simulation {
    /// A world that runs for longer never ends, and has broken its promise: a hundred times the steps of worlds that
    /// keep it, and seconds if something is requested again without a pause.
    static let stepLimit = 1_000_000

    /// Runs a world on the caller's thread.
    ///
    /// - Parameters:
    ///   - seed: decides everything.
    ///   - kept: the steps that are executed, by their indices; nil for all of them.
    ///   - keepsLines: whether the outcome includes the story.
    ///   - mutation: a fault of the code under test.
    ///   - table: counts the faults.
    public static func run(
        seed: UInt64, keeping kept: Set<Int>? = nil, keepsLines: Bool = false,
        mutation: Mutation? = nil, table: FaultTable = FaultTable()
    ) -> SimulationOutcome {
        run(
            Plan(seed: seed), keeping: kept, keepsLines: keepsLines, mutation: mutation,
            table: table)
    }

    /// Runs a world whose service and devices have their files on disks that lose unsynchronised writes: processes are
    /// killed and the power is cut between any two writes of a file, the service's too, and the next ones begin with
    /// what is left.
    ///
    /// The files are real, and so is everything that reads and writes them, with two exceptions: SQLite's files are
    /// kept apart below it, as a disk would, and the threads that wait for a disk are steps of the world.
    public static func runOnFiles(
        seed: UInt64, keeping kept: Set<Int>? = nil, keepsLines: Bool = false,
        mutation: Mutation? = nil, table: FaultTable = FaultTable()
    ) -> SimulationOutcome {
        run(
            Plan(seed: seed, isOnFiles: true), keeping: kept, keepsLines: keepsLines,
            mutation: mutation, table: table)
    }

    private static func run(
        _ plan: Plan, keeping kept: Set<Int>?, keepsLines: Bool, mutation: Mutation?,
        table: FaultTable
    ) -> SimulationOutcome {
        let world = SeededWorld(seed: plan.seed, stepLimit: stepLimit)
        var outcome = SimulationOutcome(
            seed: plan.seed, violations: [], trace: 0, lines: [], requestCount: 0)
        let folder = WorldFolder()
        do {
            let cloud = try cloud(
                of: plan, world, keepsLines: keepsLines, table: table, folder: folder,
                diskLies: mutation == .lyingDisk)
            defer {
                outcome.lines = cloud.lines
                outcome.requestCount = cloud.requestCount
            }
            (outcome.violations, outcome.planStepCount) = try world.runHere {
                let run = SimulationRun(
                    plan, cloud, mutation: mutation, table: table, folder: folder)
                return (try await run.run(keeping: kept), run.stepCount)
            }
        } catch {
            outcome.violations = [folder.without("the world ended with \(error)")]
        }
        outcome.trace = world.trace
        outcome.stepCount = world.stepCount
        return outcome
    }

    private static func cloud(
        of plan: Plan, _ world: SeededWorld, keepsLines: Bool, table: FaultTable,
        folder: WorldFolder, diskLies: Bool
    ) throws -> SimulatedCloud {
        let pushRate = plan.faultRate * 2
        guard plan.isOnFiles else {
            return SimulatedCloud(
                world, pushRate: pushRate, keepsLines: keepsLines, table: table)
        }
        let disk = try SimulatedDisk(
            folder.url().appendingPathComponent("service").path, seed: plan.seed, lies: diskLies)
        return try SimulatedCloud(
            world, pushRate: pushRate, keepsLines: keepsLines, table: table, on: disk)
    }

    /// The steps of a world, as text.
    public static func steps(ofSeed seed: UInt64) -> [String] {
        Plan(seed: seed).steps.map(\.text)
    }

    /// The steps of a world on files, as text.
    public static func steps(ofSeedOnFiles seed: UInt64) -> [String] {
        Plan(seed: seed, isOnFiles: true).steps.map(\.text)
    }
}
