import Foundation
import TestProcesses

extension RawConnection {
    /// - Parameter address: The connection's source: any address from 127.0.0.1 on.
    convenience init(attacking port: Int, from address: String = "127.0.0.1") throws {
        // A small buffer, so that unread bytes stay with the sender.
        try self.init(port: port, from: address, receiveBytes: 16_384)
    }

    /// Sends as much as is accepted without waiting.
    ///
    /// - Returns: How many bytes; nil if the other side has closed.
    func offer(_ bytes: ArraySlice<UInt8>) -> Int? {
        let count = bytes.withUnsafeBytes {
            Glibc.send(
                socket, $0.baseAddress, $0.count,
                Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
        }
        if count >= 0 { return count }
        return errno == EAGAIN ? 0 : nil
    }

    /// Waits until the other side closes or the time is over, without reading.
    func isClosed(within seconds: Double) -> Bool {
        wait(for: 0x2000, seconds)
    }

    /// Waits for an event of the socket; a reset connection counts as one.
    func wait(for events: Int16, _ seconds: Double) -> Bool {
        var poll = pollfd(fd: socket, events: events, revents: 0)
        return Glibc.poll(&poll, 1, Int32(seconds * 1_000)) > 0
    }

    /// Reads until the other side closes, for at most this long.
    ///
    /// - Returns: nil if it did not close.
    func readToEnd(within seconds: Double) -> String? {
        let end = ContinuousClock.now + .seconds(seconds)
        var bytes: [UInt8] = []
        while ContinuousClock.now < end {
            var poll = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
            guard Glibc.poll(&poll, 1, 50) > 0 else { continue }
            let more = receive()
            guard !more.isEmpty else { return String(decoding: bytes, as: UTF8.self) }
            bytes += more
        }
        return nil
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
