import StratusSimulation
import Testing

/// Worlds whose service and devices have their files on disks that lose unsynchronised writes.
@Suite struct FileWorldTests {
    /// Processes are killed and the power is cut between any two writes, and nothing acknowledged is lost. Seeds 20 and
    /// 26 have photos.
    @Test(arguments: [1, 2, 3, 4, 5, 6, 20, 26] as [UInt64])
    func worldOnFilesHasNoViolations(_ seed: UInt64) {
        let outcome = Simulation.runOnFiles(seed: seed)
        #expect(
            outcome.violations.isEmpty,
            "Run it again: stratus-sim replay \(seed) --files; its story: stratus-sim shrink \(seed) --files"
        )
        #expect(outcome.requestCount > 10)
    }

    /// Shows that these tests can fail: disks that falsely confirm that data is synchronised are detected.
    @Test(arguments: [1, 2, 3] as [UInt64]) func diskThatFakesSyncIsDetected(_ seed: UInt64) {
        #expect(!Simulation.runOnFiles(seed: seed, mutation: .lyingDisk).violations.isEmpty)
    }

    /// Photos are checked in these worlds too.
    @Test func changedPhotoOnDiskIsDetected() {
        let isDetected = ([20, 24, 26] as [UInt64]).contains { seed in
            !Simulation.runOnFiles(seed: seed, mutation: .changesBytes).violations.isEmpty
        }
        #expect(isDetected)
    }

    @Test func everyKindOfProcessEndOccurs() {
        let table = FaultTable()
        for seed in 1...12 as ClosedRange<UInt64> {
            _ = Simulation.runOnFiles(seed: seed, table: table)
        }
        for end in ["kill after write", "power cut", "service killed", "service without power"] {
            #expect(table.rows[end]?["steps"] ?? 0 > 0, "\(end)")
        }
    }
}
