import Foundation

/// A bare TCP connection from an address of this machine's loopback network, for requests that no
/// well-behaved client sends.
final class AttackConnection {
    private let socket: Int32

    /// - Parameter address: Where the connection comes from: any address from 127.0.0.1 on.
    init(port: Int, from address: String = "127.0.0.1") throws {
        socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        // Small, so that what is not read stays with the sender.
        var bytes: Int32 = 16_384
        setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &bytes, socklen_t(MemoryLayout<Int32>.size))
        guard Self.call(bind, socket, address, 0) == 0,
            Self.call(connect, socket, "127.0.0.1", UInt16(port)) == 0
        else {
            let code = errno
            close(socket)
            throw POSIXError(.init(rawValue: code) ?? .EIO)
        }
    }

    deinit {
        close(socket)
    }

    private static func call(
        _ function: (Int32, UnsafePointer<sockaddr>?, socklen_t) -> Int32, _ socket: Int32,
        _ host: String, _ port: UInt16
    ) -> Int32 {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = inet_addr(host)
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                function(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }

    /// Sends everything, as fast as it is taken.
    func send(_ text: String) throws {
        try send(Array(text.utf8))
    }

    /// Sends everything, as fast as it is taken.
    func send(_ bytes: [UInt8]) throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                Glibc.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
            rest = rest.dropFirst(count)
        }
    }

    /// Sends what is taken without waiting.
    ///
    /// - Returns: How many bytes; nil when the other side has closed.
    func offer(_ bytes: ArraySlice<UInt8>) -> Int? {
        let count = bytes.withUnsafeBytes {
            Glibc.send(
                socket, $0.baseAddress, $0.count,
                Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
        }
        if count >= 0 { return count }
        return errno == EAGAIN ? 0 : nil
    }

    /// Waits until the other side closes, reading nothing, or until the time is over.
    func isClosed(within seconds: Double) -> Bool {
        wait(for: 0x2000, seconds)
    }

    /// Waits for an event of the socket; a connection that was reset is one.
    func wait(for events: Int16, _ seconds: Double) -> Bool {
        var poll = pollfd(fd: socket, events: events, revents: 0)
        return Glibc.poll(&poll, 1, Int32(seconds * 1_000)) > 0
    }

    /// Reads until the other side closes, for so long at the most.
    ///
    /// - Returns: nil when it did not close.
    func readToEnd(within seconds: Double) -> String? {
        let end = ContinuousClock.now + .seconds(seconds)
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while ContinuousClock.now < end {
            var poll = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
            guard Glibc.poll(&poll, 1, 50) > 0 else { continue }
            let count = recv(socket, &chunk, chunk.count, 0)
            guard count > 0 else { return String(decoding: bytes, as: UTF8.self) }
            bytes += chunk[..<count]
        }
        return nil
    }

    /// Reads one answer that has a content length; status 0 when the connection ended without one.
    func readAnswer() -> (status: Int, head: String, body: String) {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        var end: Int?
        var length = 0
        while true {
            if end == nil, let place = Self.endOfHead(bytes) {
                end = place
                let head = String(decoding: bytes[..<place], as: UTF8.self).lowercased()
                length =
                    head.split(separator: "\r\n").first { $0.hasPrefix("content-length:") }
                    .flatMap { Int($0.dropFirst(15).trimmingCharacters(in: .whitespaces)) } ?? 0
            }
            if let end, bytes.count >= end + length {
                let head = String(decoding: bytes[..<end], as: UTF8.self)
                let status = Int(head.split(separator: " ").dropFirst().first ?? "") ?? 0
                return (status, head, String(decoding: bytes[end...], as: UTF8.self))
            }
            let count = recv(socket, &chunk, chunk.count, 0)
            guard count > 0 else { return (0, "", String(decoding: bytes, as: UTF8.self)) }
            bytes += chunk[..<count]
        }
    }

    private static func endOfHead(_ bytes: [UInt8]) -> Int? {
        let end: [UInt8] = [13, 10, 13, 10]
        guard bytes.count >= 4 else { return nil }
        return (0...(bytes.count - 4)).first { Array(bytes[$0..<($0 + 4)]) == end }.map { $0 + 4 }
    }

    /// Asks and reads the answer.
    func ask(_ text: String) throws -> (status: Int, head: String, body: String) {
        try send(text)
        return readAnswer()
    }
}

/// A request's text.
func posting(
    _ path: String, _ body: String, host: String = "localhost", headers: String = "",
    announcing length: Int? = nil
) -> String {
    """
    POST \(path) HTTP/1.1\r
    Host: \(host)\r
    Content-Length: \(length ?? body.utf8.count)\r
    \(headers)\r
    \(body)
    """
}

func getting(_ path: String, host: String = "localhost", headers: String = "") -> String {
    "GET \(path) HTTP/1.1\r\nHost: \(host)\r\n\(headers)\r\n"
}
