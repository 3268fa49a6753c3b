import StratusCache
import StratusTesting

/// A simulated world before it runs: its users and devices, its rate of faults, and its steps. All of it comes from the
/// seed.
struct Plan: Sendable {
    static let fields = ["f0", "f1", "f2"]
    /// The field with an asset; its number follows those of the others.
    static let photo = "photo"
    static let photoField = fields.count

    static func name(ofField number: Int) -> String {
        number == photoField ? photo : fields[number]
    }

    /// The number of records in the permanent zone, then in the one that may be deleted.
    static let recordsPerZone = [5, 2]
    static let zones = ["Kept", "Temporary"]
    /// The zone that a user deletes permanently.
    static let goneZone = "Gone"

    var seed: UInt64
    var userCount: Int
    /// The user of each device at first.
    var devices: [Int] = []
    var skewsMilliseconds: [Int64] = []
    var startsRunning: [Bool] = []
    /// The fraction of the requests, and of the notifications, that meet a fault.
    var faultRate: Double
    var hasSharing: Bool
    var hasZoneDeletions: Bool
    var hasRestores: Bool
    var hasAccountSwitches: Bool
    var hasLongAbsences: Bool
    /// A hundred steps that every world has, then those that come between them.
    private(set) var steps: [Step] = []
    /// The indices of the steps, in the order in which they are executed.
    private(set) var order: [Int] = []
    /// Whether assets are added, changed and removed; not if an older copy is restored: what it lost of them is not
    /// promised.
    private(set) var hasAssets = false
    /// Whether two records are saved together whose sum stays the same.
    private(set) var hasTransfers = false
    /// Whether the app's resolver ignores the times of edits, and compares with the ancestor.
    private(set) var decidesByAncestor = false

    /// What apps do with records of newer ones; nil if all devices always have the same app.
    private(set) var newerRecords: RecordVersions.NewerRecords?

    /// Whether apps detach zones, withdraw and retry refused changes, and fetch everything again.
    private(set) var hasAppActions = false

    /// Whether apps delete everything of their users, between the other steps and at the end. Then no older copy is
    /// restored, and no zone is detached.
    private(set) var deletesEverything = false

    /// Whether service and devices have their files on disks that lose unsynchronised writes.
    let isOnFiles: Bool

    init(seed: UInt64, stepCount: Int = 100, isOnFiles: Bool = false) {
        self.isOnFiles = isOnFiles
        var numbers = SeededNumbers(seed: seed ^ 0x504C_414E)
        func chance(_ part: Double) -> Bool { Double(numbers.next() >> 11) * 0x1p-53 < part }
        self.seed = seed
        let deviceCount = [2, 2, 2, 3, 3, 4, 5, 6][numbers.below(8)]
        userCount = min(deviceCount, [1, 1, 1, 2, 2, 3][numbers.below(6)])
        faultRate = [0, 0.02, 0.08, 0.08, 0.15, 0.3][numbers.below(6)]
        hasSharing = userCount > 1 && chance(0.6)
        hasZoneDeletions = chance(0.3)
        hasRestores = chance(0.15)
        hasAccountSwitches = userCount > 1 && chance(0.3)
        hasLongAbsences = chance(0.3)
        for device in 0..<deviceCount {
            devices.append(device % userCount)
            let hours = chance(0.5) ? 0 : Int64(numbers.below(12)) - 6
            skewsMilliseconds.append(hours * 3_600_000 + Int64(numbers.below(5_000)))
            startsRunning.append(chance(0.5))
        }
        for _ in 0..<stepCount { steps.append(step(&numbers)) }
        // From a separate sequence of numbers: the hundred steps of a kept seed stay the same.
        var more = SeededNumbers(seed: seed ^ 0x4D4F_5245)
        hasAssets = !hasRestores && more.below(3) == 0 && !isOnFiles
        hasTransfers = !hasRestores && more.below(4) == 0
        decidesByAncestor = !hasRestores && more.below(6) == 0
        var places: [Int: [Int]] = [:]
        // From separate sequences of numbers, and after the others: the steps of a kept story keep their indices.
        var newest = SeededNumbers(seed: seed ^ 0x4E45_5745)
        var versions = SeededNumbers(seed: seed ^ 0x5645_5253)
        var actions = SeededNumbers(seed: seed ^ 0x4143_5453)
        var everything = SeededNumbers(seed: seed ^ 0x4556_4552)
        hasAppActions = actions.below(4) == 0
        let isDrawn = everything.below(8) == 0
        deletesEverything = isDrawn && !hasRestores && !hasAppActions
        if versions.below(5) == 0 { newerRecords = versions.below(2) == 0 ? .haltZone : .goOn }
        let all = [
            between(stepCount, &more), stories(stepCount, &newest), updates(stepCount, &versions),
            appActions(stepCount, &actions), deletionsOfEverything(stepCount, &everything),
            transactions(stepCount), notebooks(stepCount), directSaves(stepCount),
            photosOnFiles(stepCount), openedLinks(stepCount), fullService(stepCount),
        ]
        // Only now: the steps before these are the same with photos and without.
        if isOnFiles { hasAssets = hasPhotosOnFiles }
        for between in all {
            for next in 0..<stepCount {
                for step in between[next] ?? [] {
                    places[next, default: []].append(steps.count)
                    steps.append(step)
                }
            }
        }
        for next in 0..<stepCount { order += (places[next] ?? []) + [next] }
    }

    private func step(_ numbers: inout SeededNumbers) -> Step {
        let device = numbers.below(devices.count)
        let record = numbers.below(Self.recordsPerZone.reduce(0, +))
        switch numbers.below(100) {
        case 0..<24:
            return .edit(device: device, record: record, field: numbers.below(Self.fields.count))
        case 24..<32: return .make(device: device, record: record)
        case 32..<37: return .delete(device: device, record: record)
        case 37..<55: return .sync(device: device)
        case 55..<58: return .start(device: device)
        case 58: return .stop(device: device)
        case 59..<61: return .kill(device: device)
        case 61 where numbers.below(2) == 0: return .drop(device: device)
        case 61..<64:
            return .killAtWrite(
                device: device, later: numbers.below(12), isAfter: numbers.below(2) == 0)
        case 64 where numbers.below(2) == 0:
            return .fillDisk(device: device, writes: 1 + numbers.below(6))
        case 64 where numbers.below(2) == 0: return .cutOff(device: device)
        case 64..<68: return .reconnect(device: device)
        case 68..<70: return .audit
        case 70..<74: return rare(device, &numbers)
        case 74..<90: return .turns([10, 40, 160, 640, 2_560][numbers.below(5)])
        default: return .pass(seconds: [1, 3, 30, 400][numbers.below(4)])
        }
    }

    private func rare(_ device: Int, _ numbers: inout SeededNumbers) -> Step {
        switch numbers.below(8) {
        case 0 where hasZoneDeletions: return .deleteZone(device: device)
        case 1 where hasZoneDeletions: return .purgeZone(user: numbers.below(userCount))
        case 2 where hasAccountSwitches: return .switchAccount(device: device)
        case 3 where hasSharing: return .leave(device: device)
        case 4 where hasSharing: return .join(user: numbers.below(userCount))
        case 5 where hasRestores: return .takeCopy
        case 6 where hasRestores: return .restoreCopy
        case 7 where hasLongAbsences: return .jump(seconds: (1 + numbers.below(60)) * 86_400)
        default: return .sync(device: device)
        }
    }
}

extension SeededNumbers {
    /// A number from 0 up to, but not including, a limit.
    mutating func below(_ limit: Int) -> Int { Int(next() % UInt64(limit)) }
}

extension [Int: [Step]] {
    /// Adds steps before one of a world's others.
    mutating func add(_ steps: [Step], among stepCount: Int, _ numbers: inout SeededNumbers) {
        self[numbers.below(stepCount), default: []] += steps
    }
}
