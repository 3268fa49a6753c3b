import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import NIOHTTPTypesHTTP1
import NIOSSL
import NIOTLS
import StratusRecords
import StratusRuntime
import StratusService

/// Sets up connections: TLS if there is a certificate, the ``ByteCounter``, and HTTP/1.1, or HTTP/2 if the client asks
/// for it within TLS.
struct MeteredChannel: ServerChildChannel {
    /// The protocol of a connection's requests.
    enum Served: Sendable {
        case http1(HTTP1Channel.Value, ConnectionLedger)
        case http2(StreamsChannel.Value)
    }

    /// A connection that is being served; its protocol is known later.
    struct Value: ServerChildChannelValue {
        let channel: any Channel
        let served: EventLoopFuture<Served>
    }

    let http: HTTP1Channel
    let streams: StreamsChannel
    let tls: TLSFiles?
    let connections: Connections
    let meter: ConnectionMeter
    /// Makes the identifiers of requests.
    let newUUID: @Sendable () -> String

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        let counter = ConnectionCounter(
            meter.ledger(of: channel), limits: meter.limits, world: meter.world)
        return channel.eventLoop.makeCompletedFuture {
            let pipeline = channel.pipeline.syncOperations
            if let tls {
                try pipeline.addHandler(PlainRequests(newUUID: newUUID))
                try pipeline.addHandler(NIOSSLServerHandler(context: tls.context))
            }
            try pipeline.addHandler(counter)
            try pipeline.addHandler(connections.handler())
            // One message per read, so that there is a check for free memory between two reads.
            try channel.syncOptions?.setOption(.maxMessagesPerRead, value: 1)
            // A large answer is written in turns with the loop's other connections: otherwise one of 16 MB whose client
            // takes it immediately is written completely before any other client is served.
            try channel.syncOptions?.setOption(.writeSpin, value: 0)
        }.flatMap {
            guard tls != nil else {
                return setUpHTTP1(channel, counter, logger).map { served in
                    Value(channel: channel, served: channel.eventLoop.makeSucceededFuture(served))
                }
            }
            return channel.eventLoop.makeCompletedFuture {
                Value(channel: channel, served: try negotiate(channel, counter, logger))
            }
        }
    }

    private func setUpHTTP1(
        _ channel: any Channel, _ counter: ConnectionCounter, _ logger: Logger
    ) -> EventLoopFuture<Served> {
        http.setup(channel: channel, logger: logger).flatMapThrowing { http in
            let pipeline = channel.pipeline.syncOperations
            let codec = try pipeline.handler(type: HTTP1ToHTTPServerCodec.self)
            try pipeline.addHandler(
                meter.requestCounter(counter, of: channel), position: .after(codec))
            return .http1(http, counter.ledger)
        }
    }

    /// Waits until the client has chosen a protocol, at most as long as for a request's head.
    private func negotiate(
        _ channel: any Channel, _ counter: ConnectionCounter, _ logger: Logger
    ) throws -> EventLoopFuture<Served> {
        let handler = NIOTypedApplicationProtocolNegotiationHandler<Served> { result in
            guard case .negotiated(TLSFiles.http2) = result else {
                return setUpHTTP1(channel, counter, logger)
            }
            counter.carriesStreams = true
            return channel.eventLoop.makeCompletedFuture {
                .http2(try streams.setUp(channel, logger))
            }
        }
        try channel.pipeline.syncOperations.addHandler(handler)
        counter.expect(handler.protocolNegotiationResult, within: meter.limits.requestHeadSeconds)
        return handler.protocolNegotiationResult
    }

    func handle(value: Value, logger: Logger) async {
        do {
            switch try await value.served.get() {
            case .http1(let connection, let ledger):
                await ConnectionLedger.$current.withValue(ledger) {
                    await http.handle(value: connection, logger: logger)
                }
            case .http2(let connection):
                await streams.handle(connection, on: value.channel, logger)
            }
        } catch {
            logger.debug("A connection ended before its protocol was known: \(error)")
        }
    }
}

/// The objects that count and limit connections and their streams.
struct ConnectionMeter: Sendable {
    let proxies: TrustedProxies
    let budget: MemoryBudget
    let limits: Limits
    let world: World

    func ledger(of channel: any Channel) -> ConnectionLedger {
        let address = channel.remoteAddress.flatMap(NetworkAddress.name) ?? NetworkAddress.unknown
        return ConnectionLedger(budget, networkAddress: address)
    }

    func requestCounter(
        _ counter: any RequestWatching, of channel: any Channel, headersPerRequest: Int? = nil
    ) -> RequestCounter {
        RequestCounter(
            counter, proxies: proxies, peer: channel.remoteAddress,
            headersPerRequest: headersPerRequest)
    }
}
