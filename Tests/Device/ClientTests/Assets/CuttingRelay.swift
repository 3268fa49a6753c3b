import Foundation
import Synchronization

/// A relay between a client and the service that cuts connections after a number of bytes.
final class CuttingRelay: Sendable {
    let port: Int
    private let listener: Int32
    private let target: Int
    /// The number of bytes that a connection carries to the service before it is cut.
    private let bytesPerConnection: Int
    private let state: Mutex<(cuts: Int, sentBytes: Int, answeredBytes: Int)>

    /// - Parameter cuts: How many connections are cut; later ones are left alone.
    init(to target: Int, cuts: Int, after bytes: Int) throws {
        self.target = target
        bytesPerConnection = bytes
        state = Mutex((cuts, 0, 0))
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        var address = Self.address(0)
        let listener = listener
        let isListening = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, length) == 0 && listen(listener, 16) == 0
                    && getsockname(listener, $0, &length) == 0
            }
        }
        guard isListening else { throw POSIXError(.EADDRINUSE) }
        port = Int(UInt16(bigEndian: address.sin_port))
        Thread.detachNewThread { [weak self] in
            while case let client = accept(listener, nil, nil), client >= 0 {
                guard let self else { break }
                relay(client)
            }
        }
    }

    deinit {
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
    }

    /// Bytes sent to the service.
    var sentBytes: Int { state.withLock { $0.sentBytes } }
    /// Bytes received from the service.
    var answeredBytes: Int { state.withLock { $0.answeredBytes } }
    /// Connections that are still to be cut.
    var cuts: Int { state.withLock { $0.cuts } }

    private static func address(_ port: Int) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        return address
    }

    private func relay(_ client: Int32) {
        let service = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = Self.address(target)
        let status = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(service, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        let ended = Mutex(0)
        let end: @Sendable () -> Void = {
            shutdown(client, Int32(SHUT_RDWR))
            shutdown(service, Int32(SHUT_RDWR))
            // The sockets are closed when both directions have ended.
            guard
                ended.withLock({
                    $0 += 1; return $0 == 2
                })
            else { return }
            close(client)
            close(service)
        }
        guard status == 0 else {
            end()
            return end()
        }
        Thread.detachNewThread { [self] in
            pump(client, service, counts: true)
            end()
        }
        Thread.detachNewThread { [self] in
            pump(service, client, counts: false)
            end()
        }
    }

    private func pump(_ source: Int32, _ target: Int32, counts: Bool) {
        var chunk = [UInt8](repeating: 0, count: 65_536)
        var total = 0
        while case let count = recv(source, &chunk, chunk.count, 0), count > 0 {
            total += count
            if !counts { state.withLock { $0.answeredBytes += count } }
            if counts {
                let isCut = state.withLock { state in
                    state.sentBytes += count
                    guard total > bytesPerConnection, state.cuts > 0 else { return false }
                    state.cuts -= 1
                    return true
                }
                if isCut { return }
            }
            var sent = 0
            while sent < count {
                let step = chunk[sent..<count].withUnsafeBytes {
                    send(target, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                }
                guard step > 0 else { return }
                sent += step
            }
        }
    }
}
