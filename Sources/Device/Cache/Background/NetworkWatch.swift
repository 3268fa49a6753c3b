import Dispatch
import Foundation
import Synchronization

#if canImport(Network)
    import Network
#endif

/// Reports when the system's network may be available again: by NWPathMonitor on Apple's platforms, by the kernel's
/// netlink on Linux. Elsewhere it reports nothing, and the loop retries at intervals.
final class NetworkWatch: Sendable {
    #if canImport(Network)
        private let monitor = NWPathMonitor()

        /// - Parameter changed: called on a private queue, for each change that the system reports.
        init(_ changed: @escaping @Sendable () -> Void) {
            monitor.pathUpdateHandler = { path in
                if path.status == .satisfied { changed() }
            }
            monitor.start(queue: DispatchQueue(label: "stratus.cache.network"))
        }

        func end() { monitor.cancel() }
    #elseif os(Linux)
        /// `@unchecked Sendable`: dispatch sources are not marked as Sendable; this one is used
        /// only within the mutex.
        private struct Source: @unchecked Sendable {
            var source: (any DispatchSourceRead)?
        }

        private let source: Mutex<Source>

        /// The kernel's `sockaddr_nl`, which Glibc's module lacks.
        private struct Address {
            var family = UInt16(AF_NETLINK)
            var padding: UInt16 = 0
            var port: UInt32 = 0
            var groups: UInt32
        }

        /// - Parameter changed: called on a private queue, once for all messages that have arrived.
        init(_ changed: @escaping @Sendable () -> Void) {
            source = Mutex(Source())
            let descriptor = socket(
                AF_NETLINK, Int32(SOCK_RAW.rawValue) | Self.flags, Self.routeProtocol)
            // A sandbox may forbid the socket: then the loop retries at intervals.
            guard descriptor >= 0 else { return }
            var address = Address(groups: Self.groups)
            let isBound = withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(descriptor, $0, socklen_t(MemoryLayout<Address>.size)) == 0
                }
            }
            guard isBound else {
                close(descriptor)
                return
            }
            let source = DispatchSource.makeReadSource(
                fileDescriptor: descriptor, queue: DispatchQueue(label: "stratus.cache.network"))
            source.setEventHandler { if Self.drain(descriptor) { changed() } }
            source.setCancelHandler { close(descriptor) }
            source.resume()
            self.source.withLock { $0.source = source }
        }

        deinit { end() }

        func end() {
            source.withLock { source in
                source.source?.cancel()
                source.source = nil
            }
        }

        private static let flags = Int32(SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        private static let routeProtocol: Int32 = 0
        /// RTMGRP_LINK, RTMGRP_IPV4_IFADDR, RTMGRP_IPV4_ROUTE, RTMGRP_IPV6_IFADDR, RTMGRP_IPV6_ROUTE.
        private static let groups: UInt32 = 0x1 | 0x10 | 0x40 | 0x100 | 0x400
        /// RTM_NEWLINK, RTM_NEWADDR and RTM_NEWROUTE: a link, address or route was added.
        private static let arrivals: Set<UInt16> = [16, 20, 24]

        /// Reads the messages of the kernel.
        ///
        /// - Returns: whether a link, address or route was added, or messages were lost.
        private static func drain(_ descriptor: Int32) -> Bool {
            var hasArrived = false
            var buffer = [UInt8](repeating: 0, count: 16_384)
            while true {
                let count = recv(descriptor, &buffer, buffer.count, 0)
                if count < 0, errno == ENOBUFS {
                    hasArrived = true
                    continue
                }
                guard count > 0 else { return hasArrived }
                hasArrived = hasArrived || reportsArrival(buffer[..<count])
            }
        }

        /// Whether one of these messages reports an added link, address or route.
        ///
        /// Each begins with its length and type in the machine's byte order, and is padded to four
        /// bytes.
        static func reportsArrival(_ messages: ArraySlice<UInt8>) -> Bool {
            var rest = messages
            while rest.count >= 16 {
                let (length, type) = rest.withUnsafeBytes { bytes in
                    (
                        Int(bytes.loadUnaligned(as: UInt32.self)),
                        bytes.loadUnaligned(fromByteOffset: 4, as: UInt16.self)
                    )
                }
                if arrivals.contains(type) { return true }
                guard length >= 16 else { return false }
                rest = rest.dropFirst((length + 3) / 4 * 4)
            }
            return false
        }
    #else
        init(_ changed: @escaping @Sendable () -> Void) {}
        func end() {}
    #endif
}
