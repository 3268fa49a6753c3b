import StratusCache
import StratusClient
import StratusRecords
import StratusSync
import StratusTesting

/// What came of a simulated world.
public struct SimulationOutcome: Sendable {
    public var seed: UInt64
    /// What was promised and is not so; empty when all is well.
    public var violations: [String]
    /// The same for two equal runs.
    public var trace: UInt64
    /// What happened, in order; only where it was asked for.
    public var lines: [String]
    public var requestCount: Int
}

/// One simulated world: the real service and real caches in memory, on one executor, from one seed.
///
/// ```swift
/// let outcome = Simulation.run(seed: 7)
/// print(outcome.violations)
/// ```
public enum Simulation {
    /// Runs a world on the caller's thread.
    ///
    /// - Parameters:
    ///   - seed: decides everything.
    ///   - kept: the steps that are done, by their places; nil is all of them.
    ///   - keepsLines: whether the outcome has the story.
    ///   - mutation: a fault of the code under test.
    ///   - table: counts the faults.
    public static func run(
        seed: UInt64, keeping kept: Set<Int>? = nil, keepsLines: Bool = false,
        mutation: Mutation? = nil, table: FaultTable = FaultTable()
    ) -> SimulationOutcome {
        let world = SeededWorld(seed: seed)
        let plan = Plan(seed: seed)
        let cloud = SimulatedCloud(
            world, pushRate: plan.faultRate * 2, keepsLines: keepsLines, table: table)
        var violations: [String]
        do {
            violations = try world.runHere {
                try await SimulationRun(plan, cloud, mutation: mutation, table: table)
                    .run(keeping: kept)
            }
        } catch {
            violations = ["the world ended with \(error)"]
        }
        return SimulationOutcome(
            seed: seed, violations: violations, trace: world.trace, lines: cloud.lines,
            requestCount: cloud.requestCount)
    }

    /// The steps of a world, as text.
    public static func steps(ofSeed seed: UInt64) -> [String] {
        Plan(seed: seed).steps.map { "\($0)" }
    }
}
