import StratusTesting

/// A full disk of the service. Whether and when it is full comes from a separate sequence of numbers.
extension Plan {
    /// In a quarter of the worlds, the service's disk is full once or twice.
    func fullService(_ stepCount: Int) -> [Int: [Step]] {
        var numbers = SeededNumbers(seed: seed ^ 0x4655_4C4C)
        guard numbers.below(4) == 0 else { return [:] }
        var steps: [Int: [Step]] = [:]
        for _ in 0..<1 + numbers.below(2) {
            let seconds = [30, 120, 400][numbers.below(3)]
            steps.add([.fillService(seconds: seconds)], among: stepCount, &numbers)
        }
        return steps
    }
}
