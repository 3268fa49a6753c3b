/// A hierarchy of records whose long changes a test performs step by step.
protocol SteppedHierarchy {
    /// - Returns: Whether there was a step left.
    func step() async throws -> Bool
    /// Replaces the service by another one on the same storage.
    mutating func restart() async throws
}

extension SteppedHierarchy {
    /// Performs all steps, with a restart after each.
    ///
    /// - Parameter check: Runs after each restart.
    /// - Returns: The number of steps.
    mutating func performSteps(_ check: (Self) async throws -> Void) async throws -> Int {
        var steps = 0
        while try await step() {
            steps += 1
            try await restart()
            try await check(self)
        }
        return steps
    }
}
