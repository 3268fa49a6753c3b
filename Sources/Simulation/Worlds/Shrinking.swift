/// Shortens the story of a seed that failed: leaves out steps as long as a promise is still broken.
///
/// ```swift
/// if let story = Shrinking.story(ofSeed: 7) {
///     print(story.steps.joined(separator: "\n"))
///     print(story.violations)
/// }
/// ```
public enum Shrinking {
    /// The remaining steps of a world.
    public struct Story: Sendable {
        /// The indices of the steps that are executed.
        public var kept: [Int]
        /// The remaining steps as text, in the order in which they are executed.
        public var steps: [String]
        /// The promises that these steps break, one sentence each.
        public var violations: [String]
    }

    /// Finds a short story: no step of it can be left out.
    ///
    /// - Returns: nil for a seed that keeps all promises.
    public static func story(ofSeed seed: UInt64, mutation: Mutation? = nil) -> Story? {
        story(of: Simulation.steps(ofSeed: seed)) { kept in
            Simulation.run(seed: seed, keeping: kept, mutation: mutation).violations
        }
    }

    /// The same for a world on files.
    public static func story(ofSeedOnFiles seed: UInt64, mutation: Mutation? = nil) -> Story? {
        story(of: Simulation.steps(ofSeedOnFiles: seed)) { kept in
            Simulation.runOnFiles(seed: seed, keeping: kept, mutation: mutation).violations
        }
    }

    /// The same for a world of mapped objects.
    public static func story(ofMappedSeed seed: UInt64) -> Story? {
        story(of: MappedPlan(seed: seed).steps.map { "\($0)" }) { kept in
            Simulation.runMapped(seed: seed, keeping: kept).violations
        }
    }

    private static func story(
        of steps: [String], brokenBy run: (Set<Int>) -> [String]
    ) -> Story? {
        func violations(_ kept: [Int]) -> [String] { run(Set(kept)) }
        var kept = Array(steps.indices)
        var broken = violations(kept)
        guard !broken.isEmpty else { return nil }
        var size = kept.count / 2
        while size > 0 {
            var start = 0
            var hasChanged = false
            while start < kept.count {
                var fewer = kept
                fewer.removeSubrange(start..<min(start + size, kept.count))
                let found = violations(fewer)
                if found.isEmpty {
                    start += size
                } else {
                    (kept, broken, hasChanged) = (fewer, found, true)
                }
            }
            if size > 1 { size /= 2 } else if !hasChanged { break }
        }
        return Story(kept: kept, steps: kept.map { steps[$0] }, violations: broken)
    }
}
