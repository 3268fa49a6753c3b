import Foundation
import NIOCore
import NIOPosix
import NIOSSL
import TestProcesses

/// An HTTP/2 connection with handmade frames, for requests that no well-behaved client sends.
final class FrameConnection: Sendable {
    /// A frame's type (RFC 9113, 6).
    enum Kind: UInt8 {
        case data = 0
        case headers = 1
        case reset = 3
        case settings = 4
        case ping = 6
        case goAway = 7
        case windowUpdate = 8
        case continuation = 9
    }

    private static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)

    private let channel: any Channel
    private let arrived = Arrived()

    /// - Parameter settings: Identifiers and values.
    init(port: Int, settings: [(UInt16, UInt32)] = []) throws {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.certificateVerification = .none
        tls.applicationProtocols = ["h2"]
        let context = try NIOSSLContext(configuration: tls)
        let arrived = arrived
        channel = try ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandlers(
                        NIOSSLClientHandler(context: context, serverHostname: nil), arrived)
                }
            }
            .connect(host: "127.0.0.1", port: port).wait()
        var body: [UInt8] = []
        for (identifier, value) in settings {
            body += [UInt8(identifier >> 8), UInt8(identifier & 255)]
            body += Self.bytes(of: value)
        }
        try send(Self.preface + Self.frame(.settings, stream: 0, body))
    }

    deinit {
        channel.close(promise: nil)
    }

    // MARK: Frames

    static func frame(
        _ kind: Kind, flags: UInt8 = 0, stream: UInt32, _ body: [UInt8] = []
    ) -> [UInt8] {
        bytes(of: UInt32(body.count)).dropFirst() + [kind.rawValue, flags] + bytes(of: stream)
            + body
    }

    static func bytes(of number: UInt32) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(number >> $0 & 255) }
    }

    /// A literal header field (RFC 7541, 6.2.2), never an indexed one.
    static func header(_ name: String, _ value: String) -> [UInt8] {
        [0] + length(name.utf8.count) + name.utf8 + length(value.utf8.count) + value.utf8
    }

    /// The length of a text without Huffman coding.
    private static func length(_ count: Int) -> [UInt8] {
        guard count >= 127 else { return [UInt8(count)] }
        var rest = count - 127
        var bytes: [UInt8] = [127]
        while rest >= 128 {
            bytes.append(UInt8(rest % 128) | 128)
            rest /= 128
        }
        return bytes + [UInt8(rest)]
    }

    static func head(_ method: String, _ path: String) -> [UInt8] {
        header(":method", method) + header(":scheme", "https") + header(":path", path)
            + header(":authority", "localhost")
    }

    /// A request's head as one frame.
    static func request(
        _ method: String, _ path: String, stream: UInt32, ends: Bool
    ) -> [UInt8] {
        frame(.headers, flags: ends ? 5 : 4, stream: stream, head(method, path))
    }

    // MARK: Sending and receiving

    /// Sends everything, and waits until the connection has accepted it.
    func send(_ bytes: [UInt8]) throws {
        try channel.writeAndFlush(ByteBuffer(bytes: bytes)).wait()
    }

    /// Sends without checking whether it is accepted.
    func offer(_ bytes: [UInt8]) {
        // Not awaited, since the other side may have ended or stopped reading.
        channel.writeAndFlush(ByteBuffer(bytes: bytes), promise: nil)
    }

    /// Waits until the other side has ended the connection.
    func isClosed(within seconds: Double) -> Bool {
        let ended = DispatchSemaphore(value: 0)
        channel.closeFuture.whenComplete { _ in ended.signal() }
        return ended.wait(timeout: .now() + seconds) == .success
    }

    /// Waits for a frame.
    ///
    /// - Returns: its flags and content; nil if none came, or the connection ended.
    func frame(
        _ kind: Kind, stream: UInt32, within seconds: Double
    ) -> (flags: UInt8, body: [UInt8])? {
        arrived.first(within: seconds) { $0.kind == kind.rawValue && $0.stream == stream }
            .map { ($0.flags, $0.body) }
    }

    /// Requests a page and waits for the head of its answer.
    ///
    /// - Returns: whether its status is 200, which is one byte in the table of RFC 7541.
    func isServed(_ path: String, stream: UInt32, within seconds: Double = 20) -> Bool {
        offer(Self.request("GET", path, stream: stream, ends: true))
        let head = frame(.headers, stream: stream, within: seconds)
        return head?.body.first == 0x88
    }
}

/// The received frames.
///
/// `@unchecked`: NIO calls a handler only on its channel's event loop, and the lock guards what other threads
/// read.
private final class Arrived: ChannelInboundHandler, @unchecked Sendable {
    typealias InboundIn = ByteBuffer

    struct Frame {
        var kind: UInt8
        var flags: UInt8
        var stream: UInt32
        var body: [UInt8]
    }

    private let frames = NSCondition()
    private var all: [Frame] = []
    private var isOver = false
    private var rest: [UInt8] = []

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        rest += unwrapInboundIn(data).readableBytesView
        var new: [Frame] = []
        while rest.count >= 9 {
            let length = Int(rest[0]) << 16 | Int(rest[1]) << 8 | Int(rest[2])
            guard rest.count >= 9 + length else { break }
            new.append(
                Frame(
                    kind: rest[3], flags: rest[4],
                    stream: rest[5..<9].reduce(0) { $0 << 8 | UInt32($1) } & 0x7fff_ffff,
                    body: Array(rest[9..<(9 + length)])))
            rest.removeFirst(9 + length)
        }
        frames.lock()
        all += new
        frames.broadcast()
        frames.unlock()
    }

    func channelInactive(context: ChannelHandlerContext) {
        frames.lock()
        isOver = true
        frames.broadcast()
        frames.unlock()
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // Not awaited, since the connection is broken.
        context.close(promise: nil)
    }

    func first(within seconds: Double, where matches: (Frame) -> Bool) -> Frame? {
        let end = Date(timeIntervalSinceNow: seconds)
        frames.lock()
        defer { frames.unlock() }
        while true {
            if let found = all.first(where: matches) { return found }
            guard !isOver, frames.wait(until: end) else { return nil }
        }
    }
}

/// A certificate and key for localhost, in a folder that is removed after the test.
final class AttackedCertificate: Sendable {
    private let folder = AttackedFolder()

    init() throws {
        try FileManager.default.createDirectory(
            atPath: folder.path, withIntermediateDirectories: true)
        let command =
            "/usr/bin/env openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2"
            .split(separator: " ").map(String.init)
        try ChildProcess(
            command + ["-subj", "/CN=localhost", "-keyout", key, "-out", certificate],
            error: .nullDevice
        ).end()
    }

    var certificate: String { folder.path + "/certificate.pem" }
    var key: String { folder.path + "/key.pem" }
    var arguments: [String] { ["--tls-certificate", certificate, "--tls-key", key] }
}
