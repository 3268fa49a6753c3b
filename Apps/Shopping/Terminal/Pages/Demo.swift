import AppDevice
import ArgumentParser
import Foundation
import ShoppingCore
import ShoppingWeb
import StratusClient
import StratusRuntime
import StratusTesting

extension Shopping {
    /// `shopping demo --web`: three devices of two people, side by side in a browser.
    struct Demo: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show a list on three devices of two people, side by side in a browser.",
            discussion: """
                Alice's phone, her tablet and Bob's phone, each with a cache of its own, and one \
                service, all in this process. Your own lists are left alone.
                """)

        @Flag(help: "Show the devices as pages in a browser; required: there is no other way yet.")
        var web = false

        @Option(help: ArgumentHelp("The port to listen on; 0 chooses a free port.", valueName: "n"))
        var port = 0

        func validate() throws {
            guard web else {
                throw ValidationError(
                    "--web is missing, and the demo is only in a browser; run shopping demo --web.")
            }
        }

        func run() async throws {
            let demo = try await ShoppingDemo()
            let server = DemoServer(devices: demo.devices, port: port)
            try await Shopping.serve {
                try await server.run { Shopping.show("Three devices", $0) }
            }
            try await demo.close()
        }
    }
}

/// Alice with two devices, Bob with one, and a list that they share.
final class ShoppingDemo: Sendable {
    let devices: [(title: String, device: PageDevice)]
    private let cloud: TestCloud
    private let folder: URL

    init() async throws {
        let cloud = TestCloud()
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("shopping-demo-\(cloud.operationFolder.lastPathComponent)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        self.cloud = cloud
        self.folder = folder
        for name in ["Alice", "Bob"] {
            _ = try await cloud.service.accounts.createUser(
                emailAddress: Self.address(of: name), password: "correct horse battery staple",
                givenName: name, familyName: "", isEmailVerified: true)
        }
        var devices: [(title: String, device: PageDevice)] = []
        for (person, name) in [("Alice", "phone"), ("Alice", "tablet"), ("Bob", "phone")] {
            let deviceName = "\(person.lowercased())s-\(name)"
            let container = try await cloud.container(
                Shopping.containerIdentifier, user: Self.address(of: person), device: deviceName)
            let store = try await ShoppingStore.open(
                path: folder.appendingPathComponent("\(deviceName).sqlite").path,
                container: container, device: deviceName, author: person)
            let device = PageDevice(store: store, name: deviceName, person: person)
            await device.begin()
            devices.append(("\(person)’s \(name)", device))
        }
        self.devices = devices
        try await shareList()
    }

    private static func address(of person: String) -> String {
        person.lowercased() + "@example.org"
    }

    /// Creates and shares the list that the demo shows.
    private func shareList() async throws {
        let (alice, bob) = (devices[0].device, devices[2].device)
        try await Self.act(bob, .sync)
        try await Self.act(alice, .create(title: "Weekly shop"))
        try await Self.act(
            alice,
            .add(
                text: "Bananas; Tomatoes; Sourdough; 2 pints milk; Eggs; Ground coffee; "
                    + "Basmati rice; Washing-up liquid"))
        try await Self.act(alice, .share)
        try await Self.act(alice, .invite(addresses: Self.address(of: "Bob")))
        for await state in await alice.states() {
            guard let link = state.open?.sharing?.link else { continue }
            try await Self.act(bob, .join(link: link))
            break
        }
        for (_, device) in devices { try await Self.act(device, .sync) }
    }

    private static func act(_ device: PageDevice, _ action: PageAction) async throws {
        let answer = await device.perform(PageRequest(action))
        if answer.isError { throw OneSentence(answer.sentence ?? "") }
    }

    func close() async throws {
        for (_, device) in devices { try await device.close() }
        // The system removes leftovers in the temporary folder.
        try? FileManager.default.removeItem(at: folder)
    }
}
