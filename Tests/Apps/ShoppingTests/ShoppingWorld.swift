import Foundation
import ShoppingCore
import StratusClient
import StratusRuntime
import StratusService
import StratusSync
import StratusTesting
import Synchronization

/// A cloud in this process, a folder for the devices' files, and one clock for everybody.
final class ShoppingWorld: Sendable {
    let cloud: TestCloud
    private let folder: URL
    private let clock: DeviceClock

    init() throws {
        let clock = DeviceClock()
        self.clock = clock
        var world = World.live
        world.nowMilliseconds = { clock.milliseconds.withLock { $0 } }
        var settings = ServiceSettings(isForDevelopment: true, world: world)
        // Months pass between two requests.
        settings.limits.webAuthTokenSeconds = 1e9
        settings.limits.staySignedInSeconds = 1e9
        cloud = TestCloud(settings: settings)
        folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("shopping-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    deinit {
        // A leftover in the temporary folder fails no test.
        try? FileManager.default.removeItem(at: folder)
    }

    func container(_ device: String, user: String? = "alice") async throws -> CKContainer {
        try await cloud.container("iCloud.org.example.Shopping", user: user, device: device)
    }

    func path(_ device: String) -> String {
        folder.appendingPathComponent("\(device).sqlite").path
    }

    /// - Parameters:
    ///   - device: which one; its file and its way to the service bear this.
    ///   - name: what it is called; else the same.
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

    private var quick: SyncSettings {
        var settings = ShoppingStore.watchedPace
        settings.minimumDelaySeconds = 0
        settings.coalescingSeconds = 0
        return settings
    }

    func pass(milliseconds passed: Int64) {
        clock.milliseconds.withLock { $0 += passed }
    }

    /// A second later at each look.
    func now() -> Int64 {
        clock.milliseconds.withLock { milliseconds in
            milliseconds += 1_000
            return milliseconds
        }
    }
}

/// The time that the service and all devices see.
private final class DeviceClock: Sendable {
    let milliseconds = Mutex<Int64>(1_700_000_000_000)
}
