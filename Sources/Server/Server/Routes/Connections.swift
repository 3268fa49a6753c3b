import Hummingbird
import NIOCore
import StratusRecords
import Synchronization

/// Counts the open connections of each network address and closes those that are too many.
final class Connections: Sendable {
    private let maximumPerAddress: Int
    private let open = Mutex<[String: Int]>([:])

    init(maximumPerAddress: Int) {
        self.maximumPerAddress = maximumPerAddress
    }

    /// Addresses with open connections; as many connections as `Limits.connections` bound them.
    var addresses: Int { open.withLock { $0.count } }

    func handler() -> any RemovableChannelHandler { Counter(self) }

    fileprivate func opened(_ address: String) -> Bool {
        open.withLock { open in
            guard open[address, default: 0] < maximumPerAddress else { return false }
            open[address, default: 0] += 1
            return true
        }
    }

    fileprivate func closed(_ address: String) {
        open.withLock { open in
            let left = (open[address] ?? 1) - 1
            open[address] = left > 0 ? left : nil
        }
    }

    /// One connection's handler.
    ///
    /// `@unchecked`: NIO calls a handler on its channel's event loop alone.
    private final class Counter: ChannelInboundHandler, RemovableChannelHandler, @unchecked Sendable
    {
        typealias InboundIn = Never

        private let connections: Connections
        /// Under which address it was counted; nil before and after.
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
            if connections.opened(name) {
                address = name
            } else {
                // Nobody waits for the end of a connection that is refused.
                context.close(promise: nil)
            }
        }
    }
}
