import Foundation
import StratusCache
import StratusClient
import StratusRecords
import StratusService
import StratusSync
import StratusTesting

/// A world while it runs. Only the script's task touches it.
final class SimulationRun {
    let plan: Plan
    let cloud: SimulatedCloud
    let table: FaultTable
    let mutation: Mutation?
    var devices: [SimulatedDevice] = []
    var ledger = Ledger()
    var violations: [String] = []
    var shareURL: URL?
    /// The record names of the users, as the service gave them.
    var userRecordNames: [String] = []
    let photos: Photos
    let notebooks = Notebooks()
    let links = OpenedLinks()
    var directs = DirectRecords()
    /// The folder of the world's files.
    let folder: WorldFolder
    /// Users who left the share and have not joined again.
    var strangers: Set<Int> = []
    /// Whether an older copy of the service was restored.
    var wasRestored = false
    /// How many steps of the plan were executed.
    var stepCount = 0
    /// How long the whole world slept in total.
    var sleptSeconds = 0
    /// Users who deleted the zone that is not created again.
    var goneZones: Set<Int> = []

    var world: SeededWorld { cloud.world }

    init(
        _ plan: Plan, _ cloud: SimulatedCloud, mutation: Mutation?, table: FaultTable,
        folder: WorldFolder = WorldFolder()
    ) {
        self.folder = folder
        photos = Photos(in: folder)
        self.plan = plan
        self.cloud = cloud
        self.mutation = mutation
        self.table = table
        ledger.isDecidedByTime = !plan.decidesByAncestor
        ledger.mayMixRecords = plan.decidesByAncestor || plan.newerRecords == .goOn
    }

    func run(keeping kept: Set<Int>?) async throws -> [String] {
        try await begin()
        for place in plan.order where kept?.contains(place) ?? true {
            let step = plan.steps[place]
            stepCount += 1
            cloud.note("step \(place)", step.text, "")
            if let fault = step.fault { table.count(fault, "steps") }
            try await perform(step)
            if !violations.isEmpty { return violations }
        }
        try await becomeQuiet()
        if let trouble = cloud.trouble { violations.append(folder.without(trouble)) }
        return violations
    }

    private func begin() async throws {
        for user in 0..<plan.userCount {
            let session = try await cloud.current.service.signInForDevelopment(
                user: SimulatedDevice.name(ofUser: user))
            userRecordNames.append(session.userRecordName)
        }
        if plan.hasSharing { try await share() }
        for (number, user) in plan.devices.enumerated() {
            let usesEngine = plan.usesEngine(device: number)
            let device = SimulatedDevice(
                "device\(number)", user: user, cloud: cloud,
                // Only a cache's own syncing corrects the clock.
                skewMilliseconds: usesEngine ? 0 : plan.skewsMilliseconds[number],
                dice: FaultDice(
                    seed: plan.seed &* 31 &+ UInt64(number), rate: plan.faultRate,
                    endsProcess: true, table: table),
                settings: plan.settings, resolver: mutation?.resolver ?? plan.resolver,
                newerRecords: plan.newerRecords, declaresTypes: number.isMultiple(of: 2),
                photoFolder: plan.hasAssets && !plan.isOnFiles ? try photos.folder() : nil,
                diskFolder: plan.isOnFiles ? try folder.url() : nil, usesEngine: usesEngine,
                mutation: mutation)
            devices.append(device)
            if plan.startsRunning[number] { try device.start() }
        }
    }

    /// A device without faults, for what is not under test.
    func clean(_ user: Int, _ device: String = "clean") async throws -> CKContainer {
        let service = try await cloud.running()
        let session = try await service.signInForDevelopment(
            user: SimulatedDevice.name(ofUser: user))
        let transport = InProcessTransport(
            service: service, webAuthToken: session.webAuthToken, device: device)
        return CKContainer(
            identifier: SimulatedCloud.container,
            connection: CloudConnection(
                transport: transport, hasAccount: true, deviceID: device,
                world: world.world(device), keyStore: MemoryKeyStore(),
                operationFolder: SimulatedDevice.operationFolder))
    }

    /// The first user shares the zone that stays, and the others join.
    private func share() async throws {
        let database = try await clean(0).privateCloudDatabase
        let zone = CKRecordZone.ID(zoneName: Plan.zones[0])
        _ = try await database.modifyRecordZones(
            saving: [CKRecordZone(zoneID: zone)], deleting: [])
        let share = CKShare(recordZoneID: zone)
        share.publicPermission = .readWrite
        let results = try await database.modifyRecords(saving: [share], deleting: [])
        let saved = try results.saveResults[share.recordID]?.get() as? CKShare
        shareURL = saved?.url
        for user in 1..<plan.userCount { try await join(user) }
    }

    func join(_ user: Int) async throws {
        guard user != 0, let shareURL else { return }
        strangers.remove(user)
        let container = try await clean(user)
        do {
            let metadata = try await container.shareMetadata(for: shareURL)
            _ = try await container.accept(metadata)
        } catch is CKError {
            // A copy from before the share was restored, or the user is in it already.
            return
        }
    }

    // MARK: Where records are

    /// The record of a number, as a device's user sees it.
    func place(
        _ record: Int, of device: SimulatedDevice
    ) -> (key: Ledger.Key, id: CKRecord.ID, scope: CKDatabase.Scope) {
        let zone = record < Plan.recordsPerZone[0] || Plan.isOfList(record) ? 0 : 1
        let isShared =
            plan.hasSharing && zone == 0 && device.user != 0 && record.isMultiple(of: 2)
        let owner = isShared ? 0 : device.user
        let zoneID = CKRecordZone.ID(
            zoneName: Plan.zones[zone],
            ownerName: isShared ? userRecordNames[0] : CKCurrentUserDefaultName)
        return (
            Ledger.Key(owner: owner, zone: zone, record: record),
            CKRecord.ID(recordName: "r\(record)", zoneID: zoneID), isShared ? .shared : .private
        )
    }

    /// Whether a device creates a record: only one does, so that no two are created with one name by accident.
    func isMaker(_ number: Int, of key: Ledger.Key) -> Bool {
        let makers = plan.devices.indices.filter { plan.devices[$0] == key.owner }
        return makers[key.record % makers.count] == number && devices[number].user == key.owner
    }
}
