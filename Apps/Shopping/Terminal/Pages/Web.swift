import AppDevice
import ArgumentParser
import Foundation
import Logging
import ServiceLifecycle
import ShoppingCore
import ShoppingWeb
import StratusRuntime

extension Shopping {
    /// `shopping web`: the lists in a browser on this machine.
    struct Web: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show the lists in a browser on this machine.",
            discussion: """
                Open the address that is printed; it is valid until the app ends. Anyone on this machine who \
                has the part behind the # gets in, so keep it to yourself. No other machine reaches the page.
                """)

        @ParentCommand var shopping: Shopping

        @Option(help: ArgumentHelp("The port to listen on; 0 chooses a free port.", valueName: "n"))
        var port = 0

        func run() async throws {
            let (folder, account, store) = try await shopping.openLists()
            let name = account.deviceName ?? folder.notes.deviceName
            let device = PageDevice(
                store: store, name: name, person: account.author,
                localOnlyReason: account.localOnlyReason, isOnline: !shopping.offline,
                remember: { folder.remember(openListID: $0?.description) })
            await device.begin(opening: folder.notes.openListID.map(ListID.init(text:)))
            let server = PageServer(device: device, port: port)
            try await Shopping.serve {
                try await server.run { Shopping.show("Your lists", $0) }
            }
            try await device.close()
        }
    }

    /// Serves pages until a signal asks to stop.
    static func serve(_ pages: @escaping @Sendable () async throws -> Void) async throws {
        var logger = Logger(label: "shopping")
        // A closed page is not worth a message in the terminal.
        logger.logLevel = .critical
        do {
            try await ServiceGroup(
                services: [Pages(serving: pages)], gracefulShutdownSignals: [.sigint, .sigterm],
                logger: logger
            ).run()
        } catch {
            throw OneSentence(
                "The page cannot be served on 127.0.0.1; give --port another port. "
                    + "Cause: \(error)")
        }
    }

    /// Prints the address of a page.
    static func show(_ what: String, _ address: String) {
        print("\(what): \(address)\nOpen it in a browser on this machine. Control-C ends it.")
        // A program that reads the pipe waits for it.
        fflush(nil)
    }

    private struct Pages: Service {
        let serving: @Sendable () async throws -> Void

        func run() async throws { try await serving() }
    }
}
