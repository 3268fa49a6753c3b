import StratusCache
import StratusClient
import StratusMapping
import StratusRecords
import StratusSync
import StratusTesting
import Synchronization

extension Simulation {
    /// Runs a world whose devices edit mapped objects over their caches: references that go round in cycles,
    /// weak ones, deletions, and processes that end.
    ///
    /// - Parameters: see ``run(seed:keeping:keepsLines:mutation:table:)``.
    public static func runMapped(
        seed: UInt64, keeping kept: Set<Int>? = nil, keepsLines: Bool = false,
        table: FaultTable = FaultTable()
    ) -> SimulationOutcome {
        let world = SeededWorld(seed: seed, stepLimit: stepLimit)
        let plan = MappedPlan(seed: seed)
        let cloud = SimulatedCloud(world, pushRate: 0, keepsLines: keepsLines, table: table)
        var violations: [String]
        do {
            violations = try world.runHere {
                try await MappedRun(plan, cloud, table: table).run(keeping: kept)
            }
        } catch {
            violations = ["the world ended with \(error)"]
        }
        return SimulationOutcome(
            seed: seed, violations: violations, trace: world.trace, lines: cloud.lines,
            requestCount: cloud.requestCount,
            planStepCount: plan.steps.indices.count { kept?.contains($0) ?? true },
            stepCount: world.stepCount)
    }
}

/// A world of mapped objects while it runs. Only the script's task touches it.
final class MappedRun {
    let plan: MappedPlan
    let cloud: SimulatedCloud
    let table: FaultTable
    var devices: [MappedDevice] = []
    var ledger = MappedLedger()

    var world: SeededWorld { cloud.world }

    init(_ plan: MappedPlan, _ cloud: SimulatedCloud, table: FaultTable) {
        self.plan = plan
        self.cloud = cloud
        self.table = table
    }

    func run(keeping kept: Set<Int>?) async throws -> [String] {
        for number in 0..<plan.deviceCount {
            devices.append(
                MappedDevice(
                    SimulatedDevice(
                        "device\(number)", user: 0, cloud: cloud,
                        skewMilliseconds: plan.skewsMilliseconds[number],
                        dice: FaultDice(
                            seed: plan.seed &* 31 &+ UInt64(number), rate: plan.faultRate,
                            table: table), settings: SyncSettings(), declaresTypes: false,
                        mutation: nil)))
        }
        for (place, step) in plan.steps.enumerated() where kept?.contains(place) ?? true {
            cloud.note("step \(place)", "\(step)", "")
            try await perform(step)
        }
        return try await becomeQuiet()
    }

    // MARK: Steps

    private func perform(_ step: MappedStep) async throws {
        switch step {
        case .make(let device, let kind, let target): try make(devices[device], kind, target)
        case .edit(let device, let object, let place, let isSaved):
            try edit(devices[device], object, place, linking: nil, isSaved)
        case .link(let device, let object, let target, let isSaved):
            try edit(devices[device], object, 2, linking: target, isSaved)
        case .delete(let device, let object): try await delete(devices[device], object)
        case .sync(let device):
            try devices[device].start("script sync") { try await $0.syncEntities() }
        case .forcedSync(let device):
            try devices[device].start("script sync") { try await $0.syncEntities(forced: true) }
        case .start(let device):
            _ = try devices[device].opened()
            try devices[device].below.start()
        case .kill(let device): try devices[device].kill()
        case .killAtWrite(let device, let later, let isAfter):
            _ = try devices[device].opened()
            try devices[device].below.setWriteFailure(
                isAfter ? .killedAfter : .killedBefore, later: later, writes: 1)
        case .cutOff(let device): devices[device].below.dice.isCutOff = true
        case .reconnect(let device): devices[device].below.dice.isCutOff = false
        case .turns(let count): await world.turns(count)
        case .pass(let seconds): try await world.pass(seconds: Double(seconds))
        }
    }

    private func object(_ device: MappedDevice, _ place: Int) -> (any MappedEntity)? {
        // An object that is being filled has no number yet.
        let objects = device.store.objects.filter { $0.number > 0 }
        return objects.isEmpty ? nil : objects[place % objects.count]
    }

    private func make(_ device: MappedDevice, _ kind: Int, _ target: Int) throws {
        _ = try device.opened()
        let number = ledger.nextNumber()
        let types: [any MappedEntity.Type] = [
            MappedHut.self, MappedValley.self, MappedTrail.self, MappedSign.self,
        ]
        let made = types[kind].make(number, device.below.world)
        device.store.insert(made)
        ledger.made(number)
        note(made, device, place: 2, linking: object(device, target))
        try save(made, device)
    }

    private func edit(
        _ device: MappedDevice, _ place: Int, _ field: Int, linking target: Int?, _ isSaved: Bool
    ) throws {
        _ = try device.opened()
        guard let object = object(device, place) else { return }
        note(object, device, place: field, linking: target.flatMap { self.object(device, $0) })
        if isSaved { try save(object, device) }
    }

    private func note(
        _ object: any MappedEntity, _ device: MappedDevice, place: Int,
        linking target: (any MappedEntity)?
    ) {
        let edit = ledger.edited(object.number, seeing: object.edits)
        if object is MappedSign, let target = target as? MappedTrail {
            ledger.hung(object.number, on: target.number)
        }
        object.edit(place, edit, linking: target)
    }

    private func save(_ object: any MappedEntity, _ device: MappedDevice) throws {
        let mapping = try device.opened()
        CloudMapping.$current.withValue(mapping) { object.iCloudSave() }
    }

    private func delete(_ device: MappedDevice, _ place: Int) async throws {
        let mapping = try device.opened()
        guard let object = object(device, place) else { return }
        ledger.deleted(object.number)
        device.store.forget(object)
        do {
            try await object.deleteAndWait(mapping)
        } catch {
            // The next sync repeats it.
            return
        }
    }

    // MARK: The end

    private func becomeQuiet() async throws -> [String] {
        cloud.note("quiet", "", "")
        cloud.endFaults()
        for device in devices {
            device.below.dice.end()
            device.below.endTrouble()
        }
        var troubles: [String] = []
        for round in 0..<10 {
            troubles = []
            for device in devices { troubles += try await syncWell(device) }
            if troubles.isEmpty { troubles = differences() }
            cloud.note("round \(round)", "ended with \(troubles.count) troubles", "")
            if troubles.isEmpty { break }
            try await world.pass(seconds: 400)
        }
        guard troubles.isEmpty else { return try await troubles + brokenReferences() }
        return try await brokenReferences() + ledger.violations(found: devices[0].store.objects)
    }

    private func syncWell(_ device: MappedDevice) async throws -> [String] {
        let mapping = try device.opened()
        let cache = try device.below.opened()
        try await cache.retryAttentionItems()
        let waiting = Waiting()
        _ = device.below.world.startTask("quiet sync") {
            do {
                try await mapping.syncEntities()
                waiting.end("")
            } catch {
                waiting.end("\(error)")
            }
        }
        for _ in 0..<7_200 {
            await world.waitUntilIdle()
            if waiting.outcome != nil { break }
            try await world.pass(seconds: 1)
        }
        guard let outcome = waiting.outcome else { return ["\(device.name): a sync never ended"] }
        var troubles = outcome.isEmpty ? [] : ["\(device.name): \(outcome)"]
        let count = try await cache.pendingRecordIDs().count
        if count > 0 { troubles.append("\(device.name): \(count) changes stay in the queue") }
        for item in try await cache.attentionItems() {
            troubles.append(
                "\(device.name): \(item.recordID.recordName) is refused, \(item.failure.message)")
        }
        return troubles
    }
}

/// The outcome of a sync that the script waits for.
private final class Waiting: Sendable {
    private let state = Mutex<String?>(nil)
    var outcome: String? { state.withLock { $0 } }
    func end(_ outcome: String) { state.withLock { $0 = outcome } }
}

extension MappedEntity {
    fileprivate func iCloudSave() { iCloud.save() }
    fileprivate func deleteAndWait(_ mapping: CloudMapping) async throws {
        try await mapping.delete(self)
    }
}
