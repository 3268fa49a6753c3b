import StratusTesting

/// Several records in one transaction of an app. Whether a world has them, and their steps, come from separate
/// sequences of numbers.
extension Plan {
    /// Whether apps save several records in one transaction; not if older apps overrule some of them or do not show
    /// them.
    var savesTogether: Bool {
        var numbers = SeededNumbers(seed: seed ^ 0x544F_4745)
        return numbers.below(4) == 0 && newerRecords == nil
    }

    /// Whether apps save lists whose items refer to them as their parent. The service refuses an item without its list,
    /// so not if something else than a step can remove a list: a restore, or an app that discards a refused one.
    var hasLists: Bool { savesTogether && !hasRestores && !hasAppActions && !deletesEverything }

    /// The number of lists that may be created in a world. Each is created once: its maker deletes it for good.
    static let listCount = 3
    private static let itemsOfList = 2
    private static let firstListRecord = 100

    /// Whether a record is a list or an item of one. These are in the permanent zone.
    static func isOfList(_ record: Int) -> Bool { record >= firstListRecord }

    /// The records of a list, the list itself first: all of them even or all odd, so that they have the same owner.
    static func records(ofList list: Int) -> [Int] {
        let first = firstListRecord + 10 * list + list % 2
        return (0...itemsOfList).map { first + 2 * $0 }
    }

    func transactions(_ stepCount: Int) -> [Int: [Step]] {
        guard savesTogether else { return [:] }
        var numbers = SeededNumbers(seed: seed ^ 0x544F_4732)
        var transactions: [Int: [Step]] = [:]
        for _ in 0..<3 + numbers.below(4) {
            transactions.add(transaction(&numbers), among: stepCount, &numbers)
        }
        guard hasLists else { return transactions }
        for list in 0..<Self.listCount {
            for (place, steps) in listSteps(list, stepCount, &numbers) {
                transactions[place, default: []] += steps
            }
        }
        return transactions
    }

    private func transaction(_ numbers: inout SeededNumbers) -> [Step] {
        let device = numbers.below(devices.count)
        let recordCount = Self.recordsPerZone.reduce(0, +)
        let first = numbers.below(recordCount)
        let records = (0..<2 + numbers.below(2)).map { (first + $0) % recordCount }
        let deleted = (first + 4) % recordCount
        let save = Step.app(
            .saveTogether(
                device: device, records: records, field: numbers.below(Self.fields.count),
                deleting: numbers.below(3) == 0 ? deleted : nil, isOwn: numbers.below(2) == 0))
        return interruption(of: device, &numbers) + [save] + after(device, &numbers)
    }

    /// A list's creation, its edits, and in two thirds of the cases its deletion.
    private func listSteps(
        _ list: Int, _ stepCount: Int, _ numbers: inout SeededNumbers
    ) -> [(place: Int, steps: [Step])] {
        let record = Self.records(ofList: list)[0]
        let user = devices[numbers.below(devices.count)]
        let own = devices.indices.filter { devices[$0] == user }
        let maker = own[record % own.count]
        var steps: [[Step]] = []
        steps.append(
            interruption(of: maker, &numbers)
                + [.app(.saveList(device: maker, list: list, field: 0))] + after(maker, &numbers))
        for _ in 0..<2 + numbers.below(3) {
            let device = numbers.below(devices.count)
            let field = numbers.below(Self.fields.count)
            steps.append(
                interruption(of: device, &numbers)
                    + [.app(.saveList(device: device, list: list, field: field))]
                    + after(device, &numbers))
        }
        if numbers.below(3) != 0 {
            steps.append(
                interruption(of: maker, &numbers)
                    + [.app(.deleteList(device: maker, list: list))] + after(maker, &numbers))
        }
        let places = steps.map { _ in numbers.below(stepCount) }.sorted()
        return zip(places, steps).map { (place: $0, steps: $1) }
    }

    /// In a third of the cases the process ends at one of the next writes.
    private func interruption(of device: Int, _ numbers: inout SeededNumbers) -> [Step] {
        guard numbers.below(3) == 0 else { return [] }
        return [
            .killAtWrite(
                device: device, later: numbers.below(3), isAfter: numbers.below(2) == 0)
        ]
    }

    private func after(_ device: Int, _ numbers: inout SeededNumbers) -> [Step] {
        switch numbers.below(3) {
        case 0: []
        case 1: [.sync(device: device)]
        default: [.sync(device: device), .pass(seconds: 3)]
        }
    }
}
