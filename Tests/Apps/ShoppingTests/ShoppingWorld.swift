import Foundation
import ShoppingCore
import StratusClient
import StratusRuntime
import StratusService
import StratusSync
import StratusTesting
import Synchronization
import TestProcesses
import Testing

/// A cloud in this process, a folder for the devices' files, and one clock for all devices.
final class ShoppingWorld: Sendable {
    /// The addresses of two people.
    let (alice, bob) = ("alice@example.org", "bob@example.org")

    let cloud: TestCloud
    private let folder: TemporaryFolder
    private let clock = DeviceClock(1_700_000_000_000)

    init() throws {
        cloud = TestCloud.lasting(clock)
        folder = try TemporaryFolder()
    }

    func container(_ device: String, user: String? = "alice") async throws -> CKContainer {
        try await cloud.container("iCloud.org.example.Shopping", user: user, device: device)
    }

    func path(_ device: String) -> String {
        folder.path + "/\(device).sqlite"
    }

    /// - Parameters:
    ///   - device: identifies the device in its file and its connection.
    ///   - name: the device's name; `device` by default.
    func open(
        _ device: String, user: String? = "alice", name: String? = nil
    ) async throws -> ShoppingStore {
        try await open(
            device, try await container(device, user: user), author: user ?? "somebody",
            name: name)
    }

    func open(
        _ device: String, _ container: CKContainer, author: String, name: String? = nil,
        fetchIntervalSeconds: Double? = nil
    ) async throws -> ShoppingStore {
        var settings = quick
        if let fetchIntervalSeconds { settings.fetchIntervalSeconds = fetchIntervalSeconds }
        return try await ShoppingStore.open(
            path: path(device), container: container, device: name ?? device, author: author,
            settings: settings, clock: { self.now() })
    }

    /// A list that both devices have.
    func share(
        _ title: String, _ names: [String], _ phone: ShoppingStore, _ tablet: ShoppingStore
    ) async throws -> ListID {
        let listID = try await phone.create(title: title)
        try await phone.perform([.add(names: names, afterItemID: nil)], in: listID)
        try await phone.sync()
        try await tablet.sync()
        return listID
    }

    /// Alice's phone with a shared list of milk and bread, and Bob's after he has joined.
    func joined() async throws -> (
        phone: ShoppingStore, bobs: ShoppingStore, own: ListID, his: ListID
    ) {
        let phone = try await open("phone", user: alice)
        let bobs = try await open("bobs", user: bob)
        try await bobs.sync()
        let weekly = try await phone.create(title: "Groceries")
        try await phone.perform([.add(names: ["Milk", "Bread"], afterItemID: nil)], in: weekly)
        try await phone.share(weekly)
        let sharing = try await phone.invite([bob], to: weekly)
        let his = try await bobs.join(try #require(sharing.link))
        try await phone.sync()
        return (phone, bobs, weekly, his)
    }

    private var quick: SyncSettings {
        var settings = ShoppingStore.watchedPace
        settings.minimumDelaySeconds = 0
        settings.coalescingSeconds = 0
        return settings
    }

    func pass(milliseconds passed: Int64) {
        clock.milliseconds.withLock { $0 += passed }
    }

    /// The time, a second later at each call.
    func now() -> Int64 {
        clock.milliseconds.withLock { milliseconds in
            milliseconds += 1_000
            return milliseconds
        }
    }
}

/// The time that the service and all devices see.
final class DeviceClock: Sendable {
    let milliseconds: Mutex<Int64>

    init(_ milliseconds: Int64) { self.milliseconds = Mutex(milliseconds) }
}

extension TestCloud {
    /// A cloud whose sessions last while months pass between two requests.
    static func lasting(_ clock: DeviceClock) -> TestCloud {
        var world = World.live
        world.nowMilliseconds = { clock.milliseconds.withLock { $0 } }
        var settings = ServiceSettings(isForDevelopment: true, world: world)
        settings.limits.webAuthTokenSeconds = 1e9
        settings.limits.staySignedInSeconds = 1e9
        return TestCloud(settings: settings)
    }
}
