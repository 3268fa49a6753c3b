import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1
import NIOSSL
import StratusRecords
import StratusRuntime
import StratusService

/// Sets connections up: TLS where there is a certificate, the ``ByteCounter``, and HTTP.
struct MeteredChannel: ServerChildChannel {
    /// A connection that is being served.
    struct Value: ServerChildChannelValue {
        let http: HTTP1Channel.Value
        let ledger: ConnectionLedger

        var channel: any Channel { http.channel }
    }

    let http: HTTP1Channel
    let tls: TLSFiles?
    let proxies: TrustedProxies
    let budget: MemoryBudget
    let limits: Limits
    let world: World

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        let address = channel.remoteAddress.flatMap(NetworkAddress.name) ?? NetworkAddress.unknown
        let ledger = ConnectionLedger(budget, networkAddress: address)
        let counter = ByteCounter(ledger, limits: limits, world: world)
        return channel.eventLoop.makeCompletedFuture {
            let pipeline = channel.pipeline.syncOperations
            if let tls { try pipeline.addHandler(NIOSSLServerHandler(context: tls.context)) }
            try pipeline.addHandler(counter)
            // Between two reads it is decided whether there is room for another one.
            try channel.syncOptions?.setOption(.maxMessagesPerRead, value: 1)
        }.flatMap {
            http.setup(channel: channel, logger: logger)
        }.flatMapThrowing { http in
            let pipeline = channel.pipeline.syncOperations
            let codec = try pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self)
            try pipeline.addHandler(
                RequestCounter(counter, proxies: proxies, peer: channel.remoteAddress),
                position: .after(codec))
            return Value(http: http, ledger: ledger)
        }
    }

    func handle(value: Value, logger: Logger) async {
        await ConnectionLedger.$current.withValue(value.ledger) {
            await http.handle(value: value.http, logger: logger)
        }
    }
}
