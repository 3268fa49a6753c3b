import Foundation
import ShoppingCore
import ShoppingWeb
import StratusCache
import StratusClient
import StratusSync

/// How soon Bob's screen shows what Alice puts on the list that they share: two stores with the
/// library's default settings, over HTTP.
enum Shoppers {
    /// Adds items on Alice's device and prints, in milliseconds, when Bob's screen had each.
    static func series(of count: Int, pauseSeconds: Double) async throws {
        let (alice, alices) = try await device("Alice", token: nil)
        let second = ProcessInfo.processInfo.environment["SECOND_WEB_AUTH_TOKEN"]
        let (_, bobs) = try await device("Bob", token: second)
        try await act(.create(title: "Weekly shop"), on: alices)
        try await act(.sync, on: alices)
        try await act(.share, on: alices)
        try await act(.setLink(access: .write, takesRequests: false), on: alices)
        guard let listID = await alice.lists.first?.id else { return }
        for await state in await alices.states() {
            guard let link = state.open?.sharing?.link else { continue }
            try await act(.join(link: link), on: bobs)
            break
        }
        try await act(.add(text: "First"), on: alices)
        for await state in await bobs.states() where names(in: state).contains("First") { break }
        // Wait until both have been idle for longer than notifications are gathered.
        try await Task.sleep(for: .seconds(3))
        let clock = ContinuousClock()
        let screens = await bobs.states()
        let writer = Task {
            var added: [ContinuousClock.Instant] = []
            for number in 0..<count {
                added.append(clock.now)
                try await alice.perform(
                    [.add(names: ["Item \(number)"], afterItemID: nil)], in: listID)
                if pauseSeconds > 0 { try await Task.sleep(for: .seconds(pauseSeconds)) }
            }
            return added
        }
        var seen: [String: ContinuousClock.Instant] = [:]
        for await state in screens {
            let now = clock.now
            for name in names(in: state) where seen[name] == nil { seen[name] = now }
            if (0..<count).allSatisfy({ seen["Item \($0)"] != nil }) { break }
        }
        for (number, time) in try await writer.value.enumerated() {
            guard let seenTime = seen["Item \(number)"] else { exit(1) }
            print((seenTime - time) / .milliseconds(1))
        }
        for device in [alices, bobs] { try await device.close() }
    }

    private static func names(in state: PageState) -> [String] {
        state.open?.sections.flatMap(\.rows).map(\.name) ?? []
    }

    private static func act(_ action: PageAction, on device: PageDevice) async throws {
        let answer = await device.perform(PageRequest(action))
        guard answer.isError else { return }
        FileHandle.standardError.write(Data((answer.sentence ?? "").utf8))
        exit(1)
    }

    /// - Parameter token: nil is the user of the environment.
    private static func device(
        _ name: String, token: String?
    ) async throws -> (ShoppingStore, PageDevice) {
        var variables = ProcessInfo.processInfo.environment
        variables["STRATUS_DEVICE_ID"] = name
        if let token {
            variables["STRATUS_WEB_AUTH_TOKEN"] = token
            for name in ["STRATUS_KEY_FOLDER", "STRATUS_OPERATION_FOLDER"] {
                variables[name] = variables[name].map { $0 + "-second" }
            }
        }
        let store = try await ShoppingStore.open(
            path: NSTemporaryDirectory() + "\(name)-\(UUID().uuidString).sqlite",
            container: CKContainer(
                identifier: Sight.container,
                connection: CloudConnection(environmentVariables: variables)),
            device: name, author: name, settings: SyncSettings())
        let device = PageDevice(store: store, name: name, person: name)
        await device.begin()
        return (store, device)
    }
}
