import Foundation
import ShoppingCore
import ShoppingWeb
import StratusClient
import StratusTesting
import TestProcesses

/// A cloud in this process, and the pages of its devices.
final class PageWorld: Sendable {
    let cloud = TestCloud()
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// - Parameters:
    ///   - user: nil for no account; the lists then stay on the device.
    ///   - person: the name that the device uses for its user; the user by default.
    func device(
        _ name: String, user: String?, person: String? = nil
    ) async throws -> PageDevice {
        let container = try await cloud.container(
            "iCloud.org.example.Shopping", user: user.map { $0 + "@example.org" }, device: name)
        var settings = ShoppingStore.watchedPace
        settings.minimumDelaySeconds = 0
        settings.coalescingSeconds = 0
        let store = try await ShoppingStore.open(
            path: folder.path + "/\(name).sqlite", container: container,
            device: name, author: person ?? user ?? "somebody", settings: settings)
        let device = PageDevice(
            store: store, name: name, person: person ?? user ?? "somebody",
            localOnlyReason: user == nil ? "The lists stay on this device." : nil)
        await device.begin()
        return device
    }
}

extension PageDevice {
    /// Performs an action like a page that shows the open list.
    @discardableResult
    func act(_ action: PageAction) async throws -> PageAnswer {
        await perform(PageRequest(listID: try await shown().open?.id, action))
    }

    /// What a page shows now.
    func shown() async throws -> PageState { try await seen { _ in true } }

    /// Waits for a state; otherwise the test's time limit ends the wait.
    @discardableResult
    func seen(_ isWanted: (PageState) -> Bool) async throws -> PageState {
        for await state in await states() where isWanted(state) { return state }
        throw CancellationError()
    }
}

extension PageState {
    var rows: [Row] { open?.sections.flatMap(\.rows) ?? [] }

    func row(_ name: String) -> Row? { rows.first { $0.name == name } }
}
