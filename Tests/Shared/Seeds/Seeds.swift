import Foundation

/// The seeds of property tests: those that failed once, and fresh ones.
///
/// All fresh seeds of a run are derived from one number, which is printed. With that number in the
/// environment, `STRATUS_SEED=… Scripts/test --filter X`, the same seeds are drawn again. A test that
/// fails names its seed, which is added to ``kept`` and tested in every later run.
package enum Seeds {
    /// The seeds that failed once, by the name that their test passes.
    package static let kept: [String: [UInt64]] = [
        "DamageTests": [253_474_316, 928_835_326],
        "EnginePropertyTests": [813_438_059, 908_111_956],
        // A record that was deleted here came back because fetched rows were inserted without checking the queue.
        "FetchedRowTests": [498_200_901, 704_796_959, 866_727_624],
        "FieldWiseTests": [414_496_644],
        "MappedWorldTests": [30_532_257, 55_183_638, 465_650_685, 623_311_091, 924_039_828],
        "ModelTests": [20_261_121],
        "QueryPropertyTests": [20_261_121],
        "RandomUseTests": [97_455_859, 141_098_400, 171_605_181],
        "ReferencePropertyTests in steps": [158_944_950, 738_220_890, 800_146_657],
        "ResolverTests": [714_105_748],
        // Deleted records came back with a second restore, of a newer copy.
        "RestoredEnginesTests": [269_895_241, 367_120_355],
        "SimulationTests": [
            54, 239, 398, 439, 622, 693, 722, 818, 971, 1_051, 5_030, 5_050, 30_085, 30_088, 30_223,
            30_271, 423_537_234, 423_538_385, 423_538_639, 483_971_102, 794_488_010, 825_019_900,
            825_033_063, 159_141_661, 151_645_813, 700_000_632,
            755_065_468, 700_002_286, 710_004_860,
        ],
        "SharingOracleTests": [588_416_082],
    ]

    /// The number from which the seeds of this run are derived.
    package static let run: UInt64 = {
        let variable = ProcessInfo.processInfo.environment["STRATUS_SEED"]
        let run = variable.map { UInt64($0) } ?? UInt64.random(in: 0..<limit)
        guard let run else { preconditionFailure("STRATUS_SEED must be a number from 0.") }
        print("The seeds of this run are drawn from STRATUS_SEED=\(run).")
        return run
    }()

    /// Seeds have nine digits at most, so that they are easy to type.
    private static let limit: UInt64 = 1_000_000_000

    /// A test's kept seeds, and this many fresh ones.
    package static func forTest(_ name: String, count: Int) -> [UInt64] {
        (kept[name] ?? []) + fresh(name, count: count, run: run)
    }

    /// The same seeds for the same run; tests with different names get different ones.
    package static func fresh(_ name: String, count: Int, run: UInt64) -> [UInt64] {
        let start = name.utf8.reduce(run &+ 0xCBF2_9CE4_8422_2325) {
            ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01B3
        }
        return (0..<UInt64(count)).map { mixed(start &+ $0) % limit }
    }

    /// The last step of SplitMix64: similar numbers become unrelated ones.
    private static func mixed(_ number: UInt64) -> UInt64 {
        var mixed = number &* 0x9E37_79B9_7F4A_7C15
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
