import StratusTesting

/// Users who open the link of a share that they are in. Whether a world has them, and their steps, come from separate
/// sequences of numbers.
extension Plan {
    /// Whether users open the link of the zone that is shared from the beginning: only where no restore and no deletion
    /// of everything may end the share, and not on files.
    var opensLinks: Bool {
        var numbers = SeededNumbers(seed: seed ^ 0x5441_5053)
        return numbers.below(2) == 0 && hasSharing && !hasRestores && !deletesEverything
            && !isOnFiles
    }

    func openedLinks(_ stepCount: Int) -> [Int: [Step]] {
        guard opensLinks else { return [:] }
        var numbers = SeededNumbers(seed: seed ^ 0x5441_5032)
        var openings: [Int: [Step]] = [:]
        for _ in 0..<8 + numbers.below(5) {
            let device = numbers.below(devices.count)
            openings.add([.app(.openLink(device: device))], among: stepCount, &numbers)
        }
        return openings
    }
}
