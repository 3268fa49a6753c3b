import Hummingbird
import NIOCore
import StratusRecords
import Synchronization

/// Counts the open connections of each network address and refuses new ones beyond a limit: the most that an address
/// may have, and the most that leaves as many places free as it takes. So there is always a place for other addresses.
final class Connections: Sendable {
    private struct Open {
        var count = 0
        var byAddress: [String: Int] = [:]
    }

    private let maximum: Int
    private let maximumPerAddress: Int
    private let proxies: TrustedProxies
    private let open = Mutex(Open())

    init(maximum: Int, perAddress: Int, proxies: TrustedProxies = .none) {
        self.maximum = maximum
        maximumPerAddress = perAddress
        self.proxies = proxies
    }

    /// Addresses with open connections; at most `Limits.connections`.
    var addresses: Int { open.withLock { $0.byAddress.count } }

    /// Open connections.
    var count: Int { open.withLock { $0.count } }

    func handler() -> any RemovableChannelHandler { Counter(self) }

    fileprivate func opened(_ address: String, isProxy: Bool) -> Bool {
        open.withLock { open in
            let own = open.byAddress[address, default: 0]
            // All connections of a proxy come from one address.
            guard isProxy || own < min(maximumPerAddress, maximum - open.count) else {
                return false
            }
            open.byAddress[address] = own + 1
            open.count += 1
            return true
        }
    }

    fileprivate func closed(_ address: String) {
        open.withLock { open in
            let left = (open.byAddress[address] ?? 1) - 1
            open.byAddress[address] = left > 0 ? left : nil
            open.count -= 1
        }
    }

    /// One connection's handler.
    ///
    /// `@unchecked`: NIO calls a handler only on its channel's event loop.
    private final class Counter: ChannelInboundHandler, RemovableChannelHandler, @unchecked Sendable
    {
        typealias InboundIn = Never

        private let connections: Connections
        /// The address under which it was counted; nil before and after.
        private var address: String?

        init(_ connections: Connections) {
            self.connections = connections
        }

        func handlerAdded(context: ChannelHandlerContext) {
            if context.channel.isActive { count(context) }
        }

        func channelActive(context: ChannelHandlerContext) {
            count(context)
            context.fireChannelActive()
        }

        func channelInactive(context: ChannelHandlerContext) {
            if let address { connections.closed(address) }
            address = nil
            context.fireChannelInactive()
        }

        private func count(_ context: ChannelHandlerContext) {
            guard address == nil, let name = context.remoteAddress.flatMap(NetworkAddress.name)
            else { return }
            let isProxy = context.remoteAddress.map { connections.proxies.contains($0) } ?? false
            if connections.opened(name, isProxy: isProxy) {
                address = name
            } else {
                // Nothing waits for the end of a connection that is refused.
                context.close(promise: nil)
            }
        }
    }
}
