import Foundation
import StratusSimulation
import TestSeeds
import Testing

/// Whole worlds whose devices edit mapped objects.
@Suite struct MappedWorldTests {
    static let count =
        ProcessInfo.processInfo.environment["STRATUS_LONG"] == nil ? 20 : 1_000

    @Test(arguments: Seeds.forTest("MappedWorldTests", count: count))
    func mappedWorldHasNoViolations(_ seed: UInt64) {
        let outcome = Simulation.runMapped(seed: seed)
        #expect(outcome.violations.isEmpty, "seed \(seed)")
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func mappedWorldIsDeterministicPerSeed(_ seed: UInt64) {
        let first = Simulation.runMapped(seed: seed)
        #expect(first.trace == Simulation.runMapped(seed: seed).trace)
        #expect(first.requestCount > 5)
    }
}
