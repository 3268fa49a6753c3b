import StratusCache
import StratusClient
import StratusRecords
import StratusSync
import StratusTesting
import Synchronization

/// The end of a world: there are no more faults, and every promise must hold.
extension SimulationRun {
    /// The number of rounds of syncing in which every device must have finished its work.
    private static let rounds = 8
    /// How long one sync may take, in seconds.
    private static let syncSeconds = 7_200

    struct View {
        var contents: [CKDatabase.Scope: [RecordID: RecordSnapshot]] = [:]
    }

    func becomeQuiet() async throws {
        cloud.note("quiet", "", "")
        cloud.endFaults()
        notebooks.close()
        links.close()
        for device in devices {
            device.dice.end()
            device.endTrouble()
            if plan.newerRecords != nil { try device.updateApp(toNewest: true) }
        }
        // Then no device waits for an answer any more.
        try await world.pass(seconds: DeviceTransport.longestWaitSeconds)
        _ = try await cloud.running()
        violations += try await becomeEqual()
        guard violations.isEmpty else { return }
        try checkObservers()
        let seen = plan.hasAssets ? try await checkPhotos() : [:]
        try await checkLedger(photos: seen)
        try await checkVisibility()
        try await checkNotebooks()
        try await checkDirectSaves()
        try await checkGoneZones()
        try await checkSilence()
        try await checkDeletionOfEverything()
        try checkGrowth()
    }

    /// Syncs every device, for every user of it, until all have the same as the service.
    ///
    /// - Returns: what is still wrong after the last round.
    func becomeEqual() async throws -> [String] {
        var troubles: [String] = []
        for round in 0..<Self.rounds {
            troubles = []
            for device in devices {
                for user in device.files.keys.sorted() {
                    if device.user != user { try device.switchAccount(to: user) }
                    troubles += try await syncWell(device)
                }
            }
            if troubles.isEmpty { troubles = try await differences() }
            cloud.note("round \(round)", "ended with \(troubles.count) troubles", "")
            if troubles.isEmpty { break }
            try await world.pass(seconds: 400)
        }
        return troubles
    }

    private func syncWell(_ device: SimulatedDevice) async throws -> [String] {
        let cache = try device.opened()
        try attachZones(device)
        try await cache.retryAttentionItems()
        let ended = try await syncedOnce(cache, device)
        guard ended.isEnded else { return ["\(device.name): sync() never ended"] }
        let status = try await cache.status()
        var troubles: [String] = []
        if let trouble = ended.trouble { troubles.append("\(device.name): \(trouble)") }
        if status.pendingCount > 0 {
            troubles.append("\(device.name): \(status.pendingCount) changes stay in the queue")
        }
        for item in try await cache.attentionItems() {
            troubles.append(
                "\(device.name): \(item.recordID.recordName) is refused, "
                    + "\(item.failure.code) \(item.failure.message)")
        }
        let reports = try await cache.reports(limit: 1_000)
        for report in reports {
            let event = photos.withoutFolder("\(report.event)")
            cloud.note(device.name, "report", event.prefix(200).description)
            if case .zoneSetAside(let zone, _) = report.event {
                // The service did not let them leave, or delete it, and the app was notified.
                if zone.ownerName == userRecordNames[0] { strangers.remove(device.user) }
                if zone.zoneName == Plan.goneZone { goneZones.remove(device.user) }
                if let notebook = Plan.notebook(ofZone: zone.zoneName) {
                    notebooks.change(notebook) { $0.isUnclear(for: device.user) }
                }
            }
            if case .editOfDeletedRecord(let client) = report.event { giveUp(client, of: device) }
            if plan.newerRecords == .goOn,
                case .editOverruled(let client, let server, let keys) = report.event
            {
                overruled(client, by: server, keys, of: device)
            }
        }
        try await cache.acknowledge(reports)
        return troubles
    }

    /// Withdraws a promise: where the service has forgotten deletions, a new record whose save had no answer may have
    /// arrived and been deleted. The app is notified, and has it.
    private func giveUp(_ client: CKRecord, of device: SimulatedDevice) {
        guard client.recordChangeTag == nil, sleptSeconds >= SimulatedCloud.tombstoneSeconds,
            let record = Int(client.recordID.recordName.dropFirst()),
            let life = client["life"] as Int64?
        else { return }
        let (key, id, _) = place(record, of: device)
        if id == client.recordID { ledger.givenUp(key, life: life) }
    }

    /// Withdraws promises: an older app drops its changes of a newer app's record, and is notified of what they were.
    private func overruled(
        _ client: CKRecord, by server: CKRecord, _ keys: [CKRecord.FieldKey],
        of device: SimulatedDevice
    ) {
        guard let record = Int(client.recordID.recordName.dropFirst()),
            let life = client["life"] as Int64?, let kept = server["life"] as Int64?
        else { return }
        let (key, id, _) = place(record, of: device)
        guard id == client.recordID else { return }
        let fields = (0...Plan.photoField).filter { keys.contains(Plan.name(ofField: $0)) }
        ledger.overruled(key, life: life, fields: fields, on: device.name, by: kept)
    }

    private func syncedOnce(
        _ cache: CloudCache, _ device: SimulatedDevice
    ) async throws -> Ended {
        if let engine = device.engine { return try await ended(device) { try await engine.sync() } }
        return try await ended(device) { try await cache.sync() }
    }

    /// Starts something on a device, and runs the world until it has ended, or for two hours.
    func ended(
        _ device: SimulatedDevice, _ body: @escaping @Sendable () async throws -> Void
    ) async throws -> Ended {
        let ended = Ended()
        _ = device.world.startTask("quiet") {
            do {
                try await body()
                ended.end(nil)
            } catch {
                ended.end("\(error)")
            }
        }
        for _ in 0..<Self.syncSeconds {
            await world.waitUntilIdle()
            if ended.isEnded { break }
            try await world.pass(seconds: 1)
        }
        return ended
    }

    // MARK: Equality

    /// What devices have that the service has not, and the reverse.
    ///
    /// - Parameter chosen: the devices; nil for all.
    private func differences(of chosen: [SimulatedDevice]? = nil) async throws -> [String] {
        var differences: [String] = []
        for user in 0..<plan.userCount {
            let own = (chosen ?? devices).filter { $0.files[user] != nil }
            if chosen != nil, own.isEmpty { continue }
            let truth = try await truth(user)
            for device in own {
                if device.user != user { try device.switchAccount(to: user) }
                let cache = try device.opened()
                for scope in [CKDatabase.Scope.private, .shared] {
                    differences += Self.differences(
                        device.name, try SimulatedDevice.contents(of: cache, scope),
                        truth.contents[scope] ?? [:])
                }
            }
        }
        return differences
    }

    private static func differences(
        _ device: String, _ here: [RecordID: RecordSnapshot], _ there: [RecordID: RecordSnapshot]
    ) -> [String] {
        Set(here.keys).union(there.keys).compactMap { id -> String? in
            let (mine, its) = (here[id], there[id])
            let name = "\(id.zoneID.name)/\(id.name)"
            guard let mine else { return "\(device): \(name) is only at the service" }
            guard let its else { return "\(device): \(name) is only on the device" }
            if !mine.hasSameContent(as: its) {
                return "\(device): \(name) has \(mine.fields) and the service \(its.fields)"
            }
            if mine.system?.changeTag != its.system?.changeTag {
                return "\(device): \(name) has an old change tag"
            }
            return nil
        }.sorted()
    }

    /// What the service has in a user's databases, fetched without a token.
    func truth(_ user: Int) async throws -> View {
        let container = try await clean(user)
        var view = View()
        for scope in [CKDatabase.Scope.private, .shared] {
            let database = container.database(with: scope).withoutAssetDownloads
            var contents: [RecordID: RecordSnapshot] = [:]
            for zone in try await database.allRecordZones() where zone.zoneID != .default {
                var token: CKServerChangeToken?
                while true {
                    let page = try await database.recordZoneChanges(
                        inZoneWith: zone.zoneID, since: token)
                    for result in page.modificationResultsByID.values {
                        let record = try RecordSnapshot(try result.get().record)
                        contents[record.id] = record
                    }
                    token = page.changeToken
                    if !page.moreComing { break }
                }
            }
            view.contents[scope] = contents
        }
        return view
    }

    // MARK: Promises

    /// - Parameter seen: the photo that devices found in each record.
    private func checkLedger(photos seen: [Ledger.Key: Int64]) async throws {
        var found: [Ledger.Key: Ledger.Found] = [:]
        for user in 0..<plan.userCount {
            for (id, record) in try await truth(user).contents[.private] ?? [:] {
                checkCopy(in: record)
                guard let zone = Plan.zones.firstIndex(of: id.zoneID.name),
                    let number = Int(id.name.dropFirst()),
                    case .int64(let life) = record["life"]
                else { continue }
                let key = Ledger.Key(owner: user, zone: zone, record: number)
                var one = Ledger.Found(life: life)
                for (place, name) in Plan.fields.enumerated() {
                    if case .int64(let edit) = record[name] { one.fields[place] = edit }
                }
                if case .asset = record[Plan.photo] {
                    one.fields[Plan.photoField] = seen[key]
                    one.isPhotoKnown = seen[key] != nil
                } else {
                    one.isPhotoKnown = true
                }
                found[key] = one
            }
        }
        try ledger.correctClocks { name, user, scope in
            try devices.first { $0.name == name }?.firstClockOffset(ofUser: user, in: scope) ?? 0
        }
        violations += ledger.violations(found: found)
    }

    /// Checks that the second app version's copy of a field belongs to the edit that the field has, for every app
    /// version.
    private func checkCopy(in record: RecordSnapshot) {
        guard ledger.isDecidedByTime, case .int64(let version) = record["version"], version > 1,
            record[SimulatedDevice.copyKey] != record[Plan.fields[0]]
        else { return }
        violations.append(
            "\(record.id.zoneID.name)/\(record.id.name) of version \(version) has a copy that is not its field's: "
                + "\(record.fields)")
    }

    /// Checks that users only see what is theirs or shared with them (P9), and not what they left, unless a copy from
    /// before that was restored.
    private func checkVisibility() async throws {
        for user in 0..<plan.userCount where user > 0 {
            for id in try await truth(user).contents[.shared]?.keys.sorted(by: { $0.name < $1.name }
            )
                ?? []
            {
                // For notebooks, checkNotebooks() says who may see what.
                if plan.hasNotebooks, Plan.notebook(ofZone: id.zoneID.name) != nil { continue }
                let isShared = plan.hasSharing && id.zoneID.name == Plan.zones[0]
                let isLeft = strangers.contains(user) && !wasRestored
                if !isShared || isLeft {
                    violations.append("user \(user) sees \(id.zoneID.name)/\(id.name) of another")
                }
            }
        }
    }

    /// Checks that no one is notified if nothing has changed, even if everything is fetched again, and that the device
    /// still has the same as the service; on one device of each world.
    private func checkSilence() async throws {
        let device = devices[Int(plan.seed % UInt64(devices.count))]
        // For a device that never ran, everything is a change; only a cache's own syncing fetches everything again.
        guard device.files[device.user] != nil, !device.usesEngine else { return }
        let cache = try device.opened()
        // Earlier notifications are taken here and ignored.
        _ = try device.wrongObservations()
        if let sql = device.mutation?.sqlBeforeRefetch {
            try device.files[device.user]?.execute(sql)
        }
        try await cache.refetchEverything()
        if let trouble = try await syncedOnce(cache, device).trouble {
            violations.append("\(device.name): \(trouble)")
        }
        violations += try device.needlessNotifications()
        violations += try await differences(of: [device])
    }

    /// The most rows that a file may keep at the end: none for finished work, and for what is remembered as many as
    /// there are names of records and zones, and facts about each.
    private static let rowLimits = [
        ("pending", 0), ("report", 0), ("unanswered", 0), ("tombstone", 60), ("flag", 80),
        ("zone", 12), ("event", 500),
    ]

    /// Checks that what must be empty is empty, and that what grows stays within its limit, in the file of every user.
    private func checkGrowth() throws {
        for device in devices {
            for user in device.files.keys.sorted() {
                if device.user != user { try device.switchAccount(to: user) }
                let cache = try device.opened()
                // Those since the last round. If acknowledged ones stay, their rows are counted below.
                for _ in 0..<Self.rounds {
                    let reports = try cache.reports(limit: 1_000)
                    if reports.isEmpty { break }
                    try cache.acknowledge(reports)
                }
                let counts = try device.files[user]?.rowCounts() ?? [:]
                for (table, limit) in Self.rowLimits {
                    guard let count = counts[table] else {
                        violations.append("\(device.name): there is no table \(table)")
                        continue
                    }
                    if count <= limit { continue }
                    violations.append(
                        "\(device.name): \(table) of user \(user) keeps \(count) rows")
                }
            }
        }
    }
}

/// The end of work that the script waits for.
final class Ended: Sendable {
    private let state = Mutex<(isEnded: Bool, trouble: String?)>((false, nil))

    var isEnded: Bool { state.withLock { $0.isEnded } }
    var trouble: String? { state.withLock { $0.trouble } }

    func end(_ trouble: String?) { state.withLock { $0 = (true, trouble) } }
}
