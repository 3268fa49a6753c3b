import Foundation
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import ServiceLifecycle
import ShoppingCore
import StratusRuntime
import Synchronization

/// Serves a device's page to browsers on this machine only.
///
/// ```swift
/// let server = PageServer(device: device)
/// try await server.run { address in print(address) }
/// ```
package struct PageServer: Sendable {
    /// Bytes of a request's body.
    package static let bodyBytes = 256 * 1_024
    /// Connections at a time.
    static let connections = 64

    package let secret: PageSecret
    private let device: PageDevice
    private let port: Int
    private let bodySeconds: Double
    private let world: World
    private let framedBy: [String]

    /// - Parameters:
    ///   - port: 0 chooses a free port.
    ///   - bodySeconds: how long a request's body may take to come.
    ///   - framedBy: origins whose pages may show this page in a frame.
    package init(
        device: PageDevice, port: Int = 0, bodySeconds: Double = 10, framedBy: [String] = [],
        world: World = .live
    ) {
        self.device = device
        self.port = port
        self.bodySeconds = bodySeconds
        self.framedBy = framedBy
        self.world = world
        secret = PageSecret(world: world)
    }

    /// Serves until the task is cancelled or its service group shuts down.
    ///
    /// - Parameter onListening: called with the page's whole address, the secret in it.
    package func run(onListening: @escaping @Sendable (String) async -> Void) async throws {
        let secret = secret
        try await LocalApplication(
            files: PageFile.ofDevice, port: port,
            guarding: { port in
                PageGuard(secret: secret, frames: { PageFrames(shownBy: framedBy) }, port: port)
            }, adding: addRoutes
        ).run { port in await onListening("http://127.0.0.1:\(port)/#\(secret.text)") }
    }

    // MARK: Routes

    private func addRoutes(to router: Router<BasicRequestContext>) {
        router.get("api/states") { request, _ in await states(to: request) }
        router.get("api/activity") { _, _ in try json(try await device.activity()) }
        router.get("api/purchases") { request, _ in
            try json(try await device.purchases(of: text(request)))
        }
        router.get("api/suggestions") { request, _ in
            try json(device.suggestions(for: text(request)))
        }
        router.post("api/actions") { request, _ in
            let action = try await action(in: request)
            return try json(await device.perform(action))
        }
        router.get("api/picture") { request, _ in try await picture(for: request) }
        router.post("api/picture") { request, _ in
            // A form of another page cannot send a picture as its content type.
            guard request.headers[.contentType]?.hasPrefix("image/") == true,
                let itemID = parameter("item", of: request)
            else {
                throw HTTPError(
                    .unsupportedMediaType, message: "The request has no picture; send an image.")
            }
            let bytes = try await body(of: request, upTo: ShoppingLimits.pictureBytes)
            return try json(
                await device.setPicture(
                    Data(bytes.readableBytesView), of: itemID,
                    in: parameter("list", of: request)))
        }
    }

    private func picture(for request: Request) async throws -> Response {
        guard let itemID = parameter("item", of: request),
            let picture = try await device.picture(of: itemID)
        else {
            throw HTTPError(
                .notFound, message: "The item has no picture any more; reload the page.")
        }
        return Response(
            status: .ok, headers: [.contentType: picture.kind.contentType],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: picture.bytes)))
    }

    private func text(_ request: Request) -> String { parameter("text", of: request) ?? "" }

    private func parameter(_ name: String, of request: Request) -> String? {
        request.uri.queryParameters[Substring(name)].map { String($0) }
    }

    private func json(_ answer: PageAnswer) throws -> Response {
        try json(answer, status: answer.isError ? .unprocessableContent : .ok)
    }

    private func json(
        _ value: some Encodable, status: HTTPResponse.Status = .ok
    ) throws -> Response {
        Response(
            status: status, headers: [.contentType: "application/json"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: try JSONEncoder().encode(value))))
    }

    private func action(in request: Request) async throws -> PageRequest {
        // A form of another page has a different content type.
        guard request.headers[.contentType]?.hasPrefix("application/json") == true else {
            throw HTTPError(
                .unsupportedMediaType, message: "The request is not JSON; send it as JSON.")
        }
        let body = try await body(of: request, upTo: Self.bodyBytes)
        do {
            return try JSONDecoder().decode(PageRequest.self, from: Data(body.readableBytesView))
        } catch {
            throw HTTPError(
                .badRequest, message: "The request has no action of this page; reload it.")
        }
    }

    private func body(of request: Request, upTo bytes: Int) async throws -> ByteBuffer {
        let tooLate = HTTPError(
            .requestTimeout, message: "The request was not received in time; try again.")
        return try await world.withTimeout(seconds: bodySeconds, throwing: tooLate) {
            do {
                return try await request.body.collect(upTo: bytes)
            } catch is NIOTooManyBytesError {
                throw HTTPError(
                    .contentTooLarge,
                    message: "The request has more than \(bytes / 1_024) KB; send less.")
            }
        }
    }

    /// Server-sent events: each is the whole state, until the page is closed or the app ends.
    private func states(to request: Request) async -> Response {
        let states = await device.states()
        return Response(
            status: .ok, headers: [.contentType: "text/event-stream"],
            body: ResponseBody { writer in
                // Only the closure writes, until it is over.
                nonisolated(unsafe) var open = writer
                // A closed page ends its connection, and the wait for the next state.
                try? await request.body.consumeWithCancellationOnInboundClose { _ in
                    for await state in states.cancelOnGracefulShutdown() {
                        let json = String(
                            decoding: try JSONEncoder().encode(state), as: UTF8.self)
                        try await open.write(ByteBuffer(string: "data: \(json)\n\n"))
                    }
                }
                try await open.finish(nil)
            })
    }
}

/// A server on this machine only: files that are part of the program, and what else a page needs.
struct LocalApplication: Sendable {
    let files: [PageFile]
    let port: Int
    let guarding: @Sendable (_ port: @escaping @Sendable () -> Int) -> PageGuard
    var adding: @Sendable (Router<BasicRequestContext>) -> Void = { _ in }

    func run(onListening: @escaping @Sendable (Int) async -> Void) async throws {
        let taken = TakenPort()
        let router = Router()
        router.add(middleware: guarding { taken.port.withLock { $0 } })
        for file in files {
            router.get("\(file.path)") { _, _ in
                Response(
                    status: .ok, headers: [.contentType: file.contentType],
                    body: ResponseBody(byteBuffer: ByteBuffer(bytes: file.bytes)))
            }
        }
        adding(router)
        var logger = Logger(label: "shopping")
        // A browser's mistakes are not worth a message in the terminal.
        logger.logLevel = .critical
        let application = Application(
            router: router,
            server: .http1(configuration: .init(idleTimeout: .seconds(60))),
            configuration: .init(
                address: .hostname("127.0.0.1", port: port), serverName: nil,
                availableConnectionsDelegate: .maximum(PageServer.connections, logger: logger)),
            onServerRunning: { channel in
                let port = channel.localAddress?.port ?? port
                taken.port.withLock { $0 = port }
                await onListening(port)
            },
            logger: logger)
        try await application.run()
    }
}

/// The port, once the system has assigned it.
private final class TakenPort: Sendable {
    let port = Mutex(0)
}
