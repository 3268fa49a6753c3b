import Foundation
import StratusCache
import StratusClient
import StratusRecords
import StratusRuntime
import StratusSync
import StratusTesting

/// A device of a simulated world: a file for each user who was signed in, and the process of now.
///
/// Only the script's task touches it.
final class SimulatedDevice {
    /// What an observer of the cache believes is there, from changes alone.
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
    /// How many writes there had been when its observers were last looked at.
    var observedWriteCount: Int?
    /// Which version of the app is installed.
    private(set) var appVersion = 1
    static let newestAppVersion = 3
    private let newerRecords: RecordVersions.NewerRecords?
    /// Whether its app declares its types, so that queries look into an index.
    let declaresTypes: Bool
    /// Where the world's files are.
    private let photoFolder: URL?
    /// Where the disks of its users are; nil where its files are in memory.
    private let diskFolder: URL?
    /// What the worlds of this process left.
    private static let spares = SpareCacheFiles()
    private var openings = 0
    private(set) var wasStarted = false

    init(
        _ name: String, user: Int, cloud: SimulatedCloud, skewMilliseconds: Int64, dice: FaultDice,
        settings: SyncSettings, resolver: (any ConflictResolver)? = nil,
        newerRecords: RecordVersions.NewerRecords? = nil, declaresTypes: Bool,
        photoFolder: URL? = nil, diskFolder: URL? = nil, mutation: Mutation?
    ) {
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

    /// The cache of the user who is signed in, opened where no process has it.
    func opened() throws -> CloudCache {
        if let cache, !isKilled.isThrown { return cache }
        drop()
        let file = try files[user] ?? newFile()
        files[user] = file
        file.endTrouble()
        if let sql = mutation?.sqlAtOpening { try file.execute(sql) }
        let transport = DeviceTransport(
            cloud, user: Self.name(ofUser: user), device: name, dice: dice, world: world,
            mutation: mutation)
        openings += 1
        let connection = CloudConnection(
            transport: transport, hasAccount: true, deviceID: name, world: world,
            keyStore: MemoryKeyStore(), operationFolder: Self.operationFolder)
        let container = CKContainer(
            identifier: SimulatedCloud.container, connection: connection)
        let cache = try file.opened(
            container, settings, resolver, versions, declaresTypes ? WatchedQuery.types : nil,
            world)
        self.transport = transport
        self.cache = cache
        isKilled = KillSwitch()
        wasStarted = false
        try watch(cache)
        return cache
    }

    /// What the second version of the app keeps of a record's first field; the first version knows nothing of it.
    static let copyKey = "second"

    /// The second version writes a field that the first one had not.
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

    /// Writes what the second version of the app does with a record's first field.
    func writeCopy(in record: CKRecord) {
        guard newerRecords != nil, appVersion > 1 else { return }
        record[Self.copyKey] = record[Plan.fields[0]] as Int64?
    }

    /// The process ends, and the next one is of a newer app.
    func updateApp(toNewest: Bool = false) throws {
        guard appVersion < Self.newestAppVersion else { return }
        try kill()
        appVersion = toNewest ? Self.newestAppVersion : appVersion + 1
    }

    /// No step begins a long-lived operation, so nothing is made there.
    static let operationFolder = FileManager.default.temporaryDirectory
        .appendingPathComponent("stratus-simulation-operations")

    /// Where the photos of a user lie; nil in a world without any.
    func photoFolder(ofUser user: Int) -> URL? {
        photoFolder?.appendingPathComponent("\(name)-\(Self.name(ofUser: user))")
    }

    /// The cache of a process that goes on.
    var openCache: CloudCache? { isKilled.isThrown ? nil : cache }

    static func name(ofUser user: Int) -> String { ["alice", "bob", "carol"][user] }

    /// Whether the file of the user of now has a correction of the clock.
    func isClockCorrected(in scope: CKDatabase.Scope) throws -> Bool {
        try files[user]?.flag("clockOffset", ofDatabase: scope.rawValue) != nil
    }

    /// By how much the times of edits are other than the device's own clock; 0 as long as nothing is known of it.
    func clockOffset(in scope: CKDatabase.Scope) throws -> Int64 {
        let text = try files[user]?.flag("clockOffset", ofDatabase: scope.rawValue)
        return text.flatMap { Int64($0) } ?? 0
    }

    /// By how much the times of a user's edits were moved that were made before.
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

    /// The process ends now.
    func kill() throws {
        transport?.die()
        if cache != nil, !isKilled.isThrown, case .disk(let disk) = files[user] {
            try disk.end(.killed)
        }
        try cache?.close()
        drop()
    }

    /// The app lets go of the cache without a word, and opens it again while the former one still writes. On a disk the
    /// process ends: what the kernel tells the next cache of the former one's writes has no place in the world's order.
    func letGo() throws {
        if case .disk = files[user] { try kill() } else { drop() }
    }

    private func drop() {
        cache = nil
        transport = nil
        shadows = []
        queries = []
    }

    /// The process ends at a write to come, or the disk is full for some.
    func setTrouble(_ trouble: MemoryCacheFile.WriteTrouble, later: Int, writes: Int) throws {
        _ = try opened()
        if case .disk(let disk) = files[user] {
            return trouble == .storageFull ? fill(disk) : end(disk, .killed, later: later)
        }
        guard case .memory(let file) = files[user], let transport else { return }
        let first = file.writeCount + 1 + later
        let isKilled = isKilled
        file.setWriteTrouble { number in
            guard (first..<first + writes).contains(number) else { return nil }
            if trouble != .storageFull {
                isKilled.throwOver()
                transport.die()
            }
            return trouble
        }
    }

    /// The power goes at a write to come.
    func cutPower(_ end: SimulatedDisk.End, later: Int) throws {
        _ = try opened()
        if case .disk(let disk) = files[user] { self.end(disk, end, later: later) }
    }

    private func end(_ disk: SimulatedDisk, _ end: SimulatedDisk.End, later: Int) {
        disk.end(end, later: later) { [isKilled, transport, cloud, name] in
            isKilled.throwOver()
            transport?.die()
            cloud.note(name, "ended", "\(end)")
        }
    }

    /// The disk is full for a minute.
    private func fill(_ disk: SimulatedDisk) {
        disk.isFull(true)
        _ = world.startTask("room again") { [world] in
            // At the end of the world there is no room to make.
            try? await world.sleep(60)
            disk.isFull(false)
        }
    }

    /// The process ends when its next batch of records was served, and before it hears so.
    func dieUnanswered() throws {
        let cache = try opened()
        let isKilled = isKilled
        transport?.dieUnanswered { [weak cache, file = files[user]] in
            if !isKilled.isThrown, case .disk(let disk) = file {
                // What cannot be copied is found by whoever opens it.
                try? disk.end(.killed)
            }
            isKilled.throwOver()
            // Of an ended process nobody hears whether its file could be closed.
            try? cache?.close()
        }
    }

    func endTrouble() {
        for file in files.values { file.endTrouble() }
        transport?.dieUnanswered(nil)
    }

    func switchAccount(to next: Int) throws {
        try kill()
        user = next
    }

    // MARK: Syncing

    func start() throws {
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
        _ = world.startTask("script sync") {
            // What fails now is tried again at the end, when nothing goes wrong any more.
            try? await cache.sync()
        }
    }
}
