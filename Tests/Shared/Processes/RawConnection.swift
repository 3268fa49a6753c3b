import Foundation

/// A bare TCP connection to a port of this machine, for requests that no well-behaved client sends.
package final class RawConnection: Sendable {
    package let socket: Int32

    /// - Parameters:
    ///   - address: The connection's source: any address from 127.0.0.1 on.
    ///   - receiveBytes: The size of the receive buffer; nil for the system's default.
    package init(
        port: Int, from address: String = "127.0.0.1", receiveBytes: Int32? = nil
    ) throws {
        socket = Self.newSocket()
        if var receiveBytes {
            let size = socklen_t(MemoryLayout<Int32>.size)
            setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &receiveBytes, size)
        }
        guard Self.call(bind, socket, address, 0) == 0,
            Self.call(connect, socket, "127.0.0.1", UInt16(port)) == 0
        else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
    }

    deinit {
        close(socket)
    }

    /// Whether no process listens on a port of this machine.
    package static func isFree(port: Int) -> Bool {
        let socket = newSocket()
        defer { close(socket) }
        return call(bind, socket, "127.0.0.1", UInt16(port)) == 0
    }

    private static func newSocket() -> Int32 {
        #if canImport(Glibc)
            Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        #else
            Darwin.socket(AF_INET, SOCK_STREAM, 0)
        #endif
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

    /// Sends everything, as fast as it is accepted.
    package func send(_ text: String) throws {
        try send(Array(text.utf8))
    }

    /// Sends everything, as fast as it is accepted.
    package func send(_ bytes: [UInt8]) throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                Foundation.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
            rest = rest.dropFirst(count)
        }
    }

    /// Waits until bytes have arrived and reads them; empty if the other side closed.
    package func receive(upTo bytes: Int = 65_536) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: bytes) { buffer, count in
            count = max(recv(socket, buffer.baseAddress, bytes, 0), 0)
        }
    }

    /// Reads until the other side closes.
    package func readToEnd() -> String {
        var bytes: [UInt8] = []
        while case let more = receive(), !more.isEmpty { bytes += more }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Reads one answer with a content length; status 0 if the connection ended without one.
    package func readAnswer() -> (status: Int, head: String, body: String) {
        var bytes: [UInt8] = []
        var whole: Int?
        var end = 0
        while true {
            if whole == nil, let place = bytes.firstRange(of: Array("\r\n\r\n".utf8)) {
                end = place.upperBound
                whole = end + Self.contentLength(of: bytes[..<end])
            }
            if let whole, bytes.count >= whole {
                let head = String(decoding: bytes[..<end], as: UTF8.self)
                let status = Int(head.split(separator: " ").dropFirst().first ?? "") ?? 0
                return (status, head, String(decoding: bytes[end...], as: UTF8.self))
            }
            let more = receive()
            guard !more.isEmpty else { return (0, "", String(decoding: bytes, as: UTF8.self)) }
            bytes += more
        }
    }

    private static func contentLength(of head: ArraySlice<UInt8>) -> Int {
        String(decoding: head, as: UTF8.self).lowercased().split(separator: "\r\n")
            .first { $0.hasPrefix("content-length:") }
            .flatMap { Int($0.dropFirst(15).trimmingCharacters(in: .whitespaces)) } ?? 0
    }

    /// Sends a request and reads the answer.
    package func ask(_ text: String) throws -> (status: Int, head: String, body: String) {
        try send(text)
        return readAnswer()
    }
}
