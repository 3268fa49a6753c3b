import Foundation
import ShoppingCore
import StratusClient
import StratusSync
import StratusTesting
import Synchronization

/// A cloud in this process, a folder for the devices' files, and one clock for everybody.
final class ShoppingWorld: Sendable {
    let cloud = TestCloud()
    private let folder: URL
    private let milliseconds = Mutex<Int64>(1_700_000_000_000)

    init() throws {
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

    func open(_ device: String, user: String? = "alice") async throws -> ShoppingStore {
        try await ShoppingStore.open(
            path: path(device), container: try await container(device, user: user),
            device: device, author: user ?? "somebody", settings: quick, clock: { self.now() })
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
        milliseconds.withLock { $0 += passed }
    }

    /// A second later at each look.
    func now() -> Int64 {
        milliseconds.withLock { milliseconds in
            milliseconds += 1_000
            return milliseconds
        }
    }
}
