import StratusTesting

/// The steps between the hundred that every world has.
extension Plan {
    /// The steps before each of the others.
    func between(_ stepCount: Int, _ numbers: inout SeededNumbers) -> [Int: [Step]] {
        var between: [Int: [Step]] = [:]
        func add(_ steps: [Step], _ numbers: inout SeededNumbers) {
            between[numbers.below(stepCount), default: []] += steps
        }
        if hasAssets {
            for _ in 0..<12 + numbers.below(12) { add([assetStep(&numbers)], &numbers) }
        }
        if hasTransfers {
            for _ in 0..<6 { add([.transfer(user: numbers.below(userCount))], &numbers) }
        }
        for _ in 0..<numbers.below(3) { add(unansweredSave(&numbers), &numbers) }
        if decidesByAncestor {
            for _ in 0..<3 { add(unansweredEdit(&numbers), &numbers) }
        }
        if hasRestores {
            for _ in 0..<2 { add(lostEdit(&numbers), &numbers) }
        }
        if isOnFiles { for _ in 0..<10 { add([endStep(&numbers)], &numbers) } }
        return between
    }

    /// The stories that were added after the others.
    func stories(_ stepCount: Int, _ numbers: inout SeededNumbers) -> [Int: [Step]] {
        var stories: [Int: [Step]] = [:]
        func add(_ steps: [Step], _ numbers: inout SeededNumbers) {
            stories[numbers.below(stepCount), default: []] += steps
        }
        if hasAssets {
            for _ in 0..<2 { add(photoForAnother(&numbers), &numbers) }
        }
        if hasRestores { add(zoneThatIsGone(&numbers), &numbers) }
        return stories
    }

    /// Devices get newer apps one after the other, while others are still used with older ones.
    func updates(_ stepCount: Int, _ numbers: inout SeededNumbers) -> [Int: [Step]] {
        var updates: [Int: [Step]] = [:]
        guard newerRecords != nil else { return updates }
        for _ in 0..<2 + numbers.below(4) {
            let (one, other) = twoDevices(&numbers)
            let record = record(&numbers)
            let field = numbers.below(Self.fields.count)
            var steps = [
                Step.updateApp(device: one), .edit(device: one, record: record, field: field),
                .sync(device: one),
            ]
            if numbers.below(2) == 0 { steps.append(.pass(seconds: 3)) }
            let last = numbers.below(3)
            steps += [
                last == 0
                    ? .delete(device: other, record: record)
                    : .edit(
                        device: other, record: record, field: numbers.below(Self.fields.count)),
                .sync(device: other), .pass(seconds: 3),
            ]
            updates[numbers.below(stepCount), default: []] += steps
        }
        return updates
    }

    /// What apps do with zones and refused changes besides syncing.
    func appActions(_ stepCount: Int, _ numbers: inout SeededNumbers) -> [Int: [Step]] {
        var actions: [Int: [Step]] = [:]
        guard hasAppActions else { return actions }
        for _ in 0..<12 + numbers.below(12) {
            let device = numbers.below(devices.count)
            let step: Step =
                switch numbers.below(20) {
                case 0..<3: .detachZone(device: device)
                case 3..<8: .attachZones(device: device)
                case 8..<11: .discard(device: device)
                case 11..<14: .takeServiceVersions(device: device)
                case 14..<17: .retry(device: device)
                default: .refetchEverything(device: device)
                }
            actions[numbers.below(stepCount), default: []].append(step)
        }
        return actions
    }

    /// An app deletes everything, and its user goes on, on this device and on another one that does not know yet.
    func deletionsOfEverything(
        _ stepCount: Int, _ numbers: inout SeededNumbers
    ) -> [Int: [Step]] {
        var deletions: [Int: [Step]] = [:]
        guard deletesEverything else { return deletions }
        for _ in 0..<1 + numbers.below(2) {
            let record = record(&numbers)
            let (maker, other) = makerAndOther(of: record, &numbers)
            var steps = [Step.deleteEverything(device: maker)]
            if numbers.below(2) == 0 { steps.append(.make(device: maker, record: record)) }
            if numbers.below(3) == 0 { steps.append(.kill(device: maker)) }
            steps += [
                .sync(device: maker),
                .edit(device: other, record: record, field: numbers.below(Self.fields.count)),
                .pass(seconds: 3), .sync(device: other), .pass(seconds: 3),
                .make(device: maker, record: record), .sync(device: maker),
            ]
            deletions[numbers.below(stepCount), default: []] += steps
        }
        return deletions
    }

    /// A photo from the device that makes a record to another one, which views it, makes room and views it again.
    func photoForAnother(_ numbers: inout SeededNumbers) -> [Step] {
        let record = record(&numbers)
        let (maker, other) = makerAndOther(of: record, &numbers)
        let looks = [Step.lookAtAll(device: other), .pass(seconds: 8)]
        return [
            .make(device: maker, record: record),
            .attach(device: maker, record: record, isCommon: false), .sync(device: maker),
            .pass(seconds: 30), .sync(device: maker), .sync(device: other), .pass(seconds: 30),
        ] + looks + looks + looks + [.evict(device: other), .pass(seconds: 1)] + looks + looks
            + looks
    }

    /// A zone is deleted on one device while another one is off for a month; then a copy from before that is restored.
    private func zoneThatIsGone(_ numbers: inout SeededNumbers) -> [Step] {
        let (one, other) = twoDevices(&numbers)
        return [
            .fillGoneZone(device: one), .sync(device: one), .pass(seconds: 30),
            .sync(device: other), .sync(device: one), .pass(seconds: 30), .takeCopy,
            .kill(device: other), .deleteGoneZone(device: one), .sync(device: one),
            .pass(seconds: 30),
            .kill(device: one), .jump(seconds: numbers.below(2) * 30 * 86_400), .restoreCopy,
        ]
    }

    /// The end of a process; its files are left as the disk has them.
    private func endStep(_ numbers: inout SeededNumbers) -> Step {
        let end = [SimulatedDisk.End.killed, .powerCut, .tornPowerCut][numbers.below(3)]
        if numbers.below(3) == 0 { return .endService(later: numbers.below(40), end) }
        return .cutPower(
            device: numbers.below(devices.count), later: numbers.below(60),
            end == .killed ? .tornPowerCut : end)
    }

    func assetStep(_ numbers: inout SeededNumbers) -> Step {
        let device = numbers.below(devices.count)
        let record = record(&numbers)
        switch numbers.below(20) {
        case 0..<9:
            return .attach(device: device, record: record, isCommon: numbers.below(4) == 0)
        case 9..<11: return .detach(device: device, record: record)
        case 11..<16: return .look(device: device, record: record)
        case 16..<18: return .evict(device: device)
        default: return .sync(device: device)
        }
    }

    /// The process ends between the commit and the answer of a new record's save, and another device of the user
    /// deletes the record meanwhile.
    private func unansweredSave(_ numbers: inout SeededNumbers) -> [Step] {
        let (one, other) = twoDevices(&numbers)
        let record = record(&numbers)
        return [
            .delete(device: one, record: record), .sync(device: one), .pass(seconds: 3),
            .make(device: one, record: record), .dieUnanswered(device: one), .sync(device: one),
            .pass(seconds: 3), .sync(device: other), .pass(seconds: 3),
            .delete(device: other, record: record), .sync(device: other), .pass(seconds: 3),
        ]
    }

    /// The same with an edit, while another device edits another field; then the first one edits its field again.
    private func unansweredEdit(_ numbers: inout SeededNumbers) -> [Step] {
        let (one, other) = twoDevices(&numbers)
        let record = record(&numbers)
        let field = numbers.below(Self.fields.count)
        return [
            .sync(device: one), .pass(seconds: 3),
            .edit(device: one, record: record, field: field), .dieUnanswered(device: one),
            .sync(device: one), .pass(seconds: 3), .sync(device: other), .pass(seconds: 3),
            .edit(device: other, record: record, field: (field + 1) % Self.fields.count),
            .sync(device: other), .pass(seconds: 3),
            .edit(device: one, record: record, field: field), .kill(device: one),
            .sync(device: one), .pass(seconds: 3),
        ]
    }

    /// An edit that only its device has, after an older copy of the service is restored.
    private func lostEdit(_ numbers: inout SeededNumbers) -> [Step] {
        let device = numbers.below(devices.count)
        let record = record(&numbers)
        return [
            .sync(device: device), .pass(seconds: 3), .takeCopy,
            .edit(device: device, record: record, field: numbers.below(Self.fields.count)),
            .sync(device: device), .pass(seconds: 3), .restoreCopy,
        ]
    }

    private func record(_ numbers: inout SeededNumbers) -> Int {
        numbers.below(Self.recordsPerZone.reduce(0, +))
    }

    /// The device of a user that makes the record, and another one of that user if there is one.
    private func makerAndOther(
        of record: Int, _ numbers: inout SeededNumbers
    ) -> (maker: Int, other: Int) {
        let user = devices[numbers.below(devices.count)]
        let own = devices.indices.filter { devices[$0] == user }
        let maker = own[record % own.count]
        let others = own.filter { $0 != maker }
        return (maker, others.isEmpty ? maker : others[numbers.below(others.count)])
    }

    /// Two devices, of one user if a user has two.
    private func twoDevices(_ numbers: inout SeededNumbers) -> (Int, Int) {
        let one = numbers.below(devices.count)
        let others = devices.indices.filter { $0 != one }
        let own = others.filter { devices[$0] == devices[one] }
        let chosen = own.isEmpty ? others : own
        return (one, chosen[numbers.below(chosen.count)])
    }
}
