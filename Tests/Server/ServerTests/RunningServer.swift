import Foundation
import Logging
import ServiceLifecycle
import StratusRecords
import StratusServer
import StratusService
import StratusStorage

/// Runs a server on a free port while `body` runs.
func withServer(
    _ service: CloudService, publicOrigin: String? = nil,
    trustedProxies: TrustedProxies = .none, metrics: PrometheusMetrics? = nil,
    metricsToken: String? = nil, tellsTime: Bool = false,
    _ body: @escaping @Sendable (Int) async throws -> Void
) async throws {
    let (ports, port) = AsyncStream<Int>.makeStream()
    let server = try buildServer(
        service, host: "127.0.0.1", port: 0, publicOrigin: publicOrigin,
        trustedProxies: trustedProxies, metrics: metrics, metricsToken: metricsToken,
        tellsTime: tellsTime, logger: Logger(label: "test"),
        onListening: { port.yield($0) })
    try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await server.run() }
        for await number in ports {
            try await body(number)
            break
        }
        group.cancelAll()
    }
}

/// A bare TCP connection, for requests that no well-behaved client sends. Each call has a thread of its
/// own, so that nobody's pool is held up.
final class BareConnection: Sendable {
    private let descriptor: Int32

    init(_ port: Int) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        let descriptor = descriptor
        let status = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard status == 0 else { throw POSIXError(.ECONNREFUSED) }
    }

    deinit {
        close(descriptor)
    }

    /// Sends a request and reads one answer with its body; all until the end where there is no length.
    ///
    /// - Returns: an empty text when the server closed without an answer.
    func ask(_ text: String) async throws -> String {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread { [self] in
                continuation.resume(
                    with: Result {
                        try send(text)
                        return readAnswer()
                    })
            }
        }
    }

    private func send(_ text: String) throws {
        let bytes = Array(text.utf8)
        guard Foundation.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count
        else { throw POSIXError(.EPIPE) }
    }

    private func readAnswer() -> String {
        var answer: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 4_096)
        while !isWhole(answer), case let count = recv(descriptor, &chunk, chunk.count, 0), count > 0
        {
            answer += chunk[..<count]
        }
        return String(decoding: answer, as: UTF8.self)
    }

    private func isWhole(_ bytes: [UInt8]) -> Bool {
        let text = String(decoding: bytes, as: UTF8.self)
        guard let end = text.range(of: "\r\n\r\n") else { return false }
        let length = text[..<end.lowerBound].lowercased().split(separator: "\r\n")
            .first { $0.hasPrefix("content-length:") }
            .flatMap { Int($0.dropFirst(15).trimmingCharacters(in: .whitespaces)) }
        return text[end.upperBound...].utf8.count >= length ?? 0
    }

    /// Whether the server has closed the connection, waiting for it to say anything.
    func isClosed() async -> Bool {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread { [self] in
                var byte: UInt8 = 0
                continuation.resume(returning: recv(descriptor, &byte, 1, 0) <= 0)
            }
        }
    }
}

/// A request's text.
func post(
    _ path: String, _ body: String, headers: String = "", announcing length: Int? = nil
) -> String {
    """
    POST \(path) HTTP/1.1\r
    Host: localhost\r
    Content-Length: \(length ?? body.utf8.count)\r
    \(headers)\r
    \(body)
    """
}
