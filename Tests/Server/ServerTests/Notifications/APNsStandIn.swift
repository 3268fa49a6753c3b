import JWTKit
import NIOCore
import NIOHPACK
import NIOHTTP2
import NIOPosix
import NIOSSL
import Synchronization

/// A push service for tests: HTTP/2 over TLS, like Apple's.
final class APNsStandIn: Sendable {
    struct Received: Sendable {
        var headers: HPACKHeaders
        var body: [UInt8]
        /// The connection on which it arrived.
        var connection: ObjectIdentifier?
    }

    struct Answer: Sendable {
        var status: Int
        var body = ""
        var headers: [(String, String)] = []
    }

    let requests: AsyncStream<Received>
    let certificate: NIOSSLCertificate
    private let report: AsyncStream<Received>.Continuation
    private let answers = Mutex<[Answer]>([])
    private let channel = Mutex<(any Channel)?>(nil)

    init(_ answers: [Answer] = []) throws {
        (requests, report) = AsyncStream.makeStream()
        certificate = try NIOSSLCertificate(bytes: Array(Self.certificatePEM.utf8), format: .pem)
        self.answers.withLock { $0 = answers }
    }

    func start() async throws -> String {
        var tls = TLSConfiguration.makeServerConfiguration(
            certificateChain: [.certificate(certificate)],
            privateKey: .privateKey(
                try NIOSSLPrivateKey(bytes: Array(Self.keyPEM.utf8), format: .pem)))
        tls.applicationProtocols = ["h2"]
        let context = try NIOSSLContext(configuration: tls)
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(
                        NIOSSLServerHandler(context: context))
                    _ = try channel.pipeline.syncOperations.configureHTTP2Pipeline(
                        mode: .server, connectionConfiguration: .init(),
                        streamConfiguration: .init()
                    ) { stream in
                        stream.eventLoop.makeCompletedFuture {
                            try stream.pipeline.syncOperations.addHandler(Exchange(server: self))
                        }
                    }
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        self.channel.withLock { $0 = channel }
        return "https://localhost:\(channel.localAddress?.port ?? 0)"
    }

    func stop() async throws {
        try await channel.withLock { $0 }?.close()
    }

    func next() async -> Received? {
        var iterator = requests.makeAsyncIterator()
        return await iterator.next()
    }

    fileprivate func answer(_ received: Received) -> Answer {
        report.yield(received)
        return answers.withLock { $0.isEmpty ? Answer(status: 200) : $0.removeFirst() }
    }

    /// One request and its answer.
    private final class Exchange: ChannelInboundHandler {
        typealias InboundIn = HTTP2Frame.FramePayload
        typealias OutboundOut = HTTP2Frame.FramePayload

        private let server: APNsStandIn
        private var received = Received(headers: [:], body: [])

        init(server: APNsStandIn) {
            self.server = server
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            switch unwrapInboundIn(data) {
            case .headers(let frame):
                received.headers = frame.headers
                received.connection = context.channel.parent.map { ObjectIdentifier($0) }
                if frame.endStream { respond(context) }
            case .data(let frame):
                if case .byteBuffer(let buffer) = frame.data {
                    received.body += Array(buffer.readableBytesView)
                }
                if frame.endStream { respond(context) }
            default: break
            }
        }

        private func respond(_ context: ChannelHandlerContext) {
            let answer = server.answer(received)
            var headers: HPACKHeaders = [":status": String(answer.status)]
            for (name, value) in answer.headers { headers.add(name: name, value: value) }
            context.write(
                wrapOutboundOut(.headers(.init(headers: headers, endStream: false))), promise: nil)
            context.writeAndFlush(
                wrapOutboundOut(
                    .data(
                        .init(data: .byteBuffer(ByteBuffer(string: answer.body)), endStream: true))),
                promise: nil)
        }
    }
}
