import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import StratusRuntime
import Synchronization

/// Serves several devices side by side: one page that shows the pages of others in frames.
package struct DemoServer: Sendable {
    /// A device's page.
    package struct Frame: Codable, Hashable, Sendable {
        package let title, address: String

        /// The address without its path and its secret.
        var origin: String {
            address.split(separator: "/").prefix(2).joined(separator: "//")
        }
    }

    private let devices: [(title: String, device: PageDevice)]
    private let port: Int
    private let world: World

    package init(
        devices: [(title: String, device: PageDevice)], port: Int = 0, world: World = .live
    ) {
        self.devices = devices
        self.port = port
        self.world = world
    }

    /// Serves all of them until the task is cancelled or its service group shuts down.
    ///
    /// - Parameter onListening: called with the whole address of the page that shows them.
    package func run(onListening: @escaping @Sendable (String) async -> Void) async throws {
        let secret = PageSecret(world: world)
        let frames = Frames()
        let (origins, origin) = AsyncStream.makeStream(of: Int.self)
        try await withThrowingTaskGroup { group in
            group.addTask {
                try await LocalApplication(
                    files: PageFile.ofDemo, port: port,
                    guarding: { port in
                        PageGuard(
                            secret: secret,
                            frames: { PageFrames(shown: frames.all.map(\.origin)) }, port: port)
                    },
                    adding: { router in
                        router.get("api/frames") { _, _ in
                            Response(
                                status: .ok, headers: [.contentType: "application/json"],
                                body: ResponseBody(
                                    byteBuffer: ByteBuffer(
                                        bytes: try JSONEncoder().encode(frames.all))))
                        }
                    }
                ).run { origin.yield($0) }
            }
            var ports = origins.makeAsyncIterator()
            guard let port = await ports.next() else { return }
            for (place, (title, device)) in devices.enumerated() {
                let server = PageServer(
                    device: device,
                    framedBy: ["http://127.0.0.1:\(port)", "http://localhost:\(port)"],
                    world: world)
                group.addTask {
                    try await server.run { address in
                        let isLast = frames.add(
                            Frame(title: title, address: address), at: place, of: devices.count)
                        if isLast {
                            await onListening("http://127.0.0.1:\(port)/#\(secret.text)")
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    /// Those that listen, in the order of the devices.
    private final class Frames: Sendable {
        private let byPlace = Mutex<[Int: Frame]>([:])

        var all: [Frame] {
            byPlace.withLock { $0.sorted { $0.key < $1.key }.map(\.value) }
        }

        /// - Returns: whether all are there.
        func add(_ frame: Frame, at place: Int, of count: Int) -> Bool {
            byPlace.withLock { frames in
                frames[place] = frame
                return frames.count == count
            }
        }
    }
}
