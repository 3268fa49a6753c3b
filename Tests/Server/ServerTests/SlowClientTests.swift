import Foundation
import Hummingbird
import Logging
import ServiceLifecycle
import StratusRecords
import StratusServer
import StratusService
import StratusStorage
import Testing

/// A client that sends a part of its request and then nothing is answered when its time is over, and
/// holds up nobody.
@Suite struct SlowClientTests {
    @Test func unfinishedBodyIsAnsweredWithTimeout() async throws {
        var limits = Limits()
        limits.requestReadSeconds = 0.2
        try await withServer(limits) { port in
            let answer = try await Self.ask(
                port,
                "POST /dev/sign-in HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{\"us")
            #expect(answer.hasPrefix("HTTP/1.1 408"), "\(answer)")
            #expect(answer.contains("BAD_REQUEST"))
        }
    }

    @Test func unfinishedHeadClosesConnection() async throws {
        var limits = Limits()
        limits.connectionIdleSeconds = 0.2
        try await withServer(limits) { port in
            let answer = try await Self.ask(port, "POST /dev/sign-in HTTP/1.1\r\nHost: loc")
            #expect(answer.isEmpty || answer.hasPrefix("HTTP/1.1 400"), "\(answer)")
        }
    }

    /// Runs a server while `body` runs.
    private func withServer(
        _ limits: Limits, _ body: @escaping @Sendable (Int) async throws -> Void
    ) async throws {
        let service = CloudService(
            storage: SQLiteStorageEngine.inMemory(),
            settings: ServiceSettings(isForDevelopment: true, limits: limits))
        let (ports, port) = AsyncStream<Int>.makeStream()
        let server = try buildServer(
            service, host: "127.0.0.1", port: 0, logger: Logger(label: "test"),
            makeUUID: { UUID().uuidString }, onListening: { port.yield($0) })
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await server.run() }
            for await number in ports {
                try await body(number)
                break
            }
            group.cancelAll()
        }
    }

    /// Sends text over a bare connection and reads until the server closes it.
    private static func ask(_ port: Int, _ text: String) async throws -> String {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread {
                continuation.resume(with: Result { try exchange(port, text) })
            }
        }
    }

    private static func exchange(_ port: Int, _ text: String) throws -> String {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        let status = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard status == 0 else { throw POSIXError(.ECONNREFUSED) }
        let bytes = Array(text.utf8)
        guard send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count else {
            throw POSIXError(.EPIPE)
        }
        var answer: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 4_096)
        while case let count = recv(descriptor, &chunk, chunk.count, 0), count > 0 {
            answer += chunk[..<count]
        }
        return String(decoding: answer, as: UTF8.self)
    }
}
