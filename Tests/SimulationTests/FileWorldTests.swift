import StratusSimulation
import Testing

/// Worlds whose service and devices have their files on disks that forget what was not synchronised.
@Suite struct FileWorldTests {
    /// Processes are killed and the power goes between any two writes, and nothing that was acknowledged is lost.
    @Test(arguments: [1, 2, 3, 4, 5, 6] as [UInt64])
    func worldOnFilesKeepsItsPromises(_ seed: UInt64) {
        let outcome = Simulation.runOnFiles(seed: seed)
        #expect(
            outcome.violations.isEmpty,
            "Run it again: stratus-sim replay \(seed) --files; its story: stratus-sim shrink \(seed) --files"
        )
        #expect(outcome.requestCount > 10)
    }

    /// The control: disks that lie about synchronising are found out.
    @Test(arguments: [1, 2, 3] as [UInt64]) func lyingDiskIsFoundOut(_ seed: UInt64) {
        #expect(!Simulation.runOnFiles(seed: seed, mutation: .lyingDisk).violations.isEmpty)
    }

    @Test func processesEndInEveryManner() {
        let table = FaultTable()
        for seed in 1...12 as ClosedRange<UInt64> {
            _ = Simulation.runOnFiles(seed: seed, table: table)
        }
        for end in ["kill after write", "power cut", "service killed", "service without power"] {
            #expect(table.rows[end]?["steps"] ?? 0 > 0, "\(end)")
        }
    }
}
