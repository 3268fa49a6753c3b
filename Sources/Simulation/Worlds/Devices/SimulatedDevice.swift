import Foundation
import StratusCache
import StratusClient
import StratusRecords
import StratusRuntime
import StratusSync
import StratusTesting

/// A device of a simulated world: a file for each user who was signed in, and the current process.
///
/// Only the script's task touches it.
final class SimulatedDevice {
    /// The records that an observer of the cache knows of, from changes alone.
    struct Shadow {
        var scope: CKDatabase.Scope
        var changes: RecordChanges<CKRecord.ID>
        var contents: [RecordID: RecordSnapshot] = [:]
    }

    let name: String
    let cloud: SimulatedCloud
    let world: World
    let dice: FaultDice
    let mutation: Mutation?
    private let seeded: SeededWorld
    private let settings: SyncSettings
    private let resolver: (any ConflictResolver)?
    private(set) var user: Int
    private(set) var files: [Int: UserFile] = [:]
    private(set) var cache: CloudCache?
    private var transport: DeviceTransport?
    private var isKilled = KillSwitch()
    var shadows: [Shadow] = []
    var queries: [WatchedQuery] = []
    /// How many writes there had been when its observers were last checked.
    var observedWriteCount: Int?
    /// Which version of the app is installed.
    private(set) var appVersion = 1
    static let newestAppVersion = 3
    private let newerRecords: RecordVersions.NewerRecords?
    /// Whether its app declares its types, so that queries look into an index.
    let declaresTypes: Bool
    /// The folder of the world's files.
    private let photoFolder: URL?
    /// The folder of its users' disks; nil if its files are in memory.
    private let diskFolder: URL?
    /// Cache files of earlier worlds of this process, to be reused.
    private static let spares = SpareCacheFiles()
    /// Whether its app syncs with an engine.
    let usesEngine: Bool
    /// The engine of the current process; nil without one.
    private(set) var engine: DeviceEngine?
    private var openings = 0
    private(set) var wasStarted = false

    init(
        _ name: String, user: Int, cloud: SimulatedCloud, skewMilliseconds: Int64, dice: FaultDice,
        settings: SyncSettings, resolver: (any ConflictResolver)? = nil,
        newerRecords: RecordVersions.NewerRecords? = nil, declaresTypes: Bool,
        photoFolder: URL? = nil, diskFolder: URL? = nil, usesEngine: Bool = false,
        mutation: Mutation?
    ) {
        self.usesEngine = usesEngine
        self.diskFolder = diskFolder
        self.photoFolder = photoFolder
        self.name = name
        self.user = user
        self.cloud = cloud
        seeded = cloud.world
        world = cloud.world.world(name, skewMilliseconds: skewMilliseconds)
        self.dice = dice
        self.mutation = mutation
        self.settings = settings
        self.resolver = resolver
        self.newerRecords = newerRecords
        self.declaresTypes = declaresTypes
    }

    /// The cache of the user who is signed in, opened if no process has it.
    func opened() throws -> CloudCache {
        if let cache, !isKilled.isThrown { return cache }
        drop()
        let file = try files[user] ?? newFile()
        files[user] = file
        file.endTrouble()
        if let sql = mutation?.sqlAtOpening { try file.execute(sql) }
        let transport = DeviceTransport(
            cloud, user: Self.name(ofUser: user), device: name, dice: dice, world: world,
            mayDouble: !usesEngine, mutation: mutation)
        openings += 1
        let connection = CloudConnection(
            transport: transport, hasAccount: true, deviceID: name, world: world,
            keyStore: MemoryKeyStore(), operationFolder: Self.operationFolder)
        let container = CKContainer(
            identifier: SimulatedCloud.container, connection: connection)
        let cache = try file.opened(
            container, settings, resolver, versions, declaresTypes ? WatchedQuery.types : nil,
            world)
        engine = usesEngine ? try DeviceEngine(cache, container) : nil
        self.transport = transport
        self.cache = cache
        isKilled = KillSwitch()
        transport.setProcess { [isKilled, weak cache] in
            if !isKilled.isThrown, case .disk(let disk) = file {
                // A copy that fails is noticed when the file is opened again.
                try? disk.end(.killed)
            }
            isKilled.throwOver()
            // Whether an ended process could close its file does not matter.
            try? cache?.close()
        }
        wasStarted = false
        try watch(cache)
        return cache
    }

    /// The field in which the second version of the app copies a record's first field; the first version does not know
    /// it.
    static let copyKey = "second"

    /// The record versions of the app: the second one writes a field that the first one did not have.
    private var versions: RecordVersions {
        var versions = RecordVersions()
        guard let newerRecords else { return versions }
        versions.newerRecords = newerRecords
        versions.declare("Item", key: "version", current: Int64(appVersion))
        if appVersion > 1 {
            versions.migrate("Item", to: 2) { record in
                record[Self.copyKey] = record[Plan.fields[0]] as Int64?
                return record
            }
        }
        return versions
    }

    /// Writes the second app version's copy of a record's first field.
    func writeCopy(in record: CKRecord) {
        guard newerRecords != nil, appVersion > 1 else { return }
        record[Self.copyKey] = record[Plan.fields[0]] as Int64?
    }

    /// Ends the process, and makes the next one that of a newer app.
    func updateApp(toNewest: Bool = false) throws {
        guard appVersion < Self.newestAppVersion else { return }
        try kill()
        appVersion = toNewest ? Self.newestAppVersion : appVersion + 1
    }

    /// No step begins a long-lived operation, so nothing is created there.
    static let operationFolder = FileManager.default.temporaryDirectory
        .appendingPathComponent("stratus-simulation-operations")

    /// The folder of a user's photos; nil in a world without any.
    func photoFolder(ofUser user: Int) -> URL? {
        if let folder = files[user]?.assetFolder { return folder }
        return photoFolder?.appendingPathComponent("\(name)-\(Self.name(ofUser: user))")
    }

    /// The cache of a process that has not ended.
    var openCache: CloudCache? { isKilled.isThrown ? nil : cache }

    static func name(ofUser user: Int) -> String { ["alice", "bob", "carol"][user] }

    /// Whether the current user's file has a correction of the clock.
    func isClockCorrected(in scope: CKDatabase.Scope) throws -> Bool {
        try files[user]?.flag("clockOffset", ofDatabase: scope.rawValue) != nil
    }

    /// The difference between the times of edits and the device's own clock; 0 as long as it is unknown.
    func clockOffset(in scope: CKDatabase.Scope) throws -> Int64 {
        let text = try files[user]?.flag("clockOffset", ofDatabase: scope.rawValue)
        return text.flatMap { Int64($0) } ?? 0
    }

    /// By how much the times of a user's earlier edits were moved.
    func firstClockOffset(ofUser user: Int, in scope: CKDatabase.Scope) throws -> Int64 {
        let text = try files[user]?.flag("firstClockOffset", ofDatabase: scope.rawValue)
        return text.flatMap { Int64($0) } ?? 0
    }

    /// Whether a zone with records was fetched.
    func isKnown(zone name: String, in scope: CKDatabase.Scope) throws -> Bool {
        try files[user]?.isKnown(zone: name, ofDatabase: scope.rawValue) ?? false
    }

    private func newFile() throws -> UserFile {
        guard let diskFolder else {
            return .memory(
                try MemoryCacheFile(
                    assetFolder: photoFolder(ofUser: user), from: Self.spares,
                    kind: declaresTypes ? "declared types" : ""))
        }
        let name = "\(name)-\(Self.name(ofUser: user))"
        return .disk(
            try SimulatedDisk(
                diskFolder.appendingPathComponent(name).path,
                seed: name.utf8.reduce(seeded.seed) { $0 &* 31 &+ UInt64($1) },
                lies: mutation == .lyingDisk))
    }

    // MARK: Ends

    /// Ends the process now.
    func kill() throws {
        transport?.die()
        if cache != nil, !isKilled.isThrown, case .disk(let disk) = files[user] {
            try disk.end(.killed)
        }
        try cache?.close()
        drop()
    }

    /// Releases the cache without closing it, and opens it again while the former one still writes. On a disk the
    /// process ends: the order in which the kernel reports the former cache's writes to the next one is not decided by
    /// the world. With an engine it ends too: the next engine of the file would wait for the end of the former one.
    func letGo() throws {
        if case .disk = files[user] { return try kill() }
        if usesEngine { try kill() } else { drop() }
    }

    private func drop() {
        cache = nil
        engine = nil
        transport = nil
        shadows = []
        queries = []
    }

    /// Ends the process at a later write, or makes the disk full for some writes. Counted when the first of them comes.
    func setWriteFailure(_ failure: MemoryCacheFile.WriteFailure, later: Int, writes: Int) throws {
        _ = try opened()
        if case .disk(let disk) = files[user] {
            return failure == .storageFull
                ? fill(disk) : end(disk, .killed, later: later, fault: failure.fault)
        }
        guard case .memory(let file) = files[user], let transport else { return }
        let first = file.writeCount + 1 + later
        let isKilled = isKilled
        file.setWriteFailure { [cloud] number in
            guard (first..<first + writes).contains(number) else { return nil }
            if number == first { cloud.count(failure.fault) }
            if failure != .storageFull {
                isKilled.throwOver()
                transport.die()
            }
            return failure
        }
    }

    /// Cuts the power at a later write.
    func cutPower(_ end: SimulatedDisk.End, later: Int) throws {
        _ = try opened()
        if case .disk(let disk) = files[user] {
            self.end(disk, end, later: later, fault: "power cut")
        }
    }

    /// - Parameter fault: the row in the table of faults, where it is counted when it happens.
    private func end(
        _ disk: SimulatedDisk, _ end: SimulatedDisk.End, later: Int, fault: String
    ) {
        disk.end(end, later: later) { [isKilled, transport, cloud, name] in
            isKilled.throwOver()
            transport?.die()
            cloud.note(name, "ended", "\(end)")
            cloud.count(fault)
        }
    }

    /// Makes the disk full for a minute. Counted now: the disk does not report which writes fail.
    private func fill(_ disk: SimulatedDisk) {
        disk.isFull(true)
        cloud.count(MemoryCacheFile.WriteFailure.storageFull.fault)
        _ = world.startTask("room again") { [world] in
            // At the end of the world no room need be made.
            try? await world.sleep(60)
            disk.isFull(false)
        }
    }

    /// Ends the process when its next batch of records was served, before it gets the answer.
    func dieUnanswered() throws {
        _ = try opened()
        transport?.dieUnanswered(true)
    }

    func endTrouble() {
        for file in files.values { file.endTrouble() }
        transport?.dieUnanswered(false)
    }

    func switchAccount(to next: Int) throws {
        try kill()
        user = next
    }

    // MARK: Syncing

    func start() throws {
        // An engine here syncs on request.
        if usesEngine { return try sync() }
        let cache = try opened()
        wasStarted = true
        _ = world.startTask("script start") { await cache.start() }
    }

    func stop() throws {
        let cache = try opened()
        wasStarted = false
        _ = world.startTask("script stop") { await cache.stop() }
    }

    func sync() throws {
        let cache = try opened()
        if let engine {
            _ = world.startTask("script sync") {
                // A failure now is retried at the end, when there are no more faults.
                try? await engine.sync()
            }
            return
        }
        _ = world.startTask("script sync") {
            // As above.
            try? await cache.sync()
        }
    }
}

extension MemoryCacheFile.WriteFailure {
    /// The row in the table of faults.
    fileprivate var fault: String {
        switch self {
        case .storageFull: "disk full"
        case .killedBefore: "kill before write"
        case .killedAfter: "kill after write"
        }
    }
}
