import StratusTesting

/// Requests of the client next to the caches. Whether a world has them, and their steps, come from separate sequences of
/// numbers.
extension Plan {
    /// Whether apps also save records with the client. Not where a service's process ends: its answers would be checked
    /// against what it lost.
    var hasDirectSaves: Bool {
        var numbers = SeededNumbers(seed: seed ^ 0x4449_5245)
        return numbers.below(3) == 0 && !isOnFiles && !hasRestores && !hasAppActions
            && !deletesEverything && newerRecords == nil && !decidesByAncestor
    }

    func directSaves(_ stepCount: Int) -> [Int: [Step]] {
        guard hasDirectSaves else { return [:] }
        var numbers = SeededNumbers(seed: seed ^ 0x4449_5232)
        var saves: [Int: [Step]] = [:]
        for _ in 0..<4 + numbers.below(4) {
            let device = numbers.below(devices.count)
            var steps = [
                Step.app(
                    .saveDirectly(
                        device: device, isAtomic: numbers.below(2) == 0,
                        isStale: numbers.below(2) == 0))
            ]
            // An edit with a cache of what the request changes, before it and not sent yet.
            if numbers.below(2) == 0 {
                let other = numbers.below(devices.count)
                let name = DirectRecords.names[numbers.below(2)]
                steps = [
                    .app(.editDirect(device: other, record: name)), steps[0],
                    .sync(device: other),
                ]
            }
            saves.add(steps, among: stepCount, &numbers)
        }
        return saves
    }
}
