import Foundation
import StratusRecords
import StratusWire

/// The requests of a container's operations and convenience calls that belong to no database.
///
/// All errors, thrown or in results, are `CKError`.
struct ContainerSession: Sendable {
    let core: ContainerCore
    let sender: RequestSender

    init(core: ContainerCore, pace: RequestPace) {
        self.core = core
        sender = core.sender(scope: .public, pace: pace)
    }

    var pace: RequestPace { sender.pace }

    /// Sends a request that needs an account.
    func send<E: Endpoint>(_ endpoint: E.Type, _ request: E.Request) async throws -> E.Answer {
        try core.connection.checkConfigured()
        try core.connection.checkAccount()
        return try await sender.send(endpoint, request)
    }

    /// Sends one request for all valid items; the invalid ones fail without being sent.
    ///
    /// - Parameters:
    ///   - wire: converts the item to the protocol's form; throws if it is invalid.
    ///   - ask: sends the request; returns one answer for each item, in order.
    ///   - read: converts an answer to a value.
    /// - Returns: one result for each item, in order.
    func results<Item, Wire, Answer, Value>(
        _ items: [Item], wire: (Item) throws -> Wire,
        ask: ([Wire]) async throws -> [Answer], read: (Item, Answer) throws -> Value
    ) async throws -> [ItemResult<Item, Value>] {
        let prepared = items.map { item in Result { try wire(item) } }
        let sent = prepared.compactMap(\.success)
        let answers = sent.isEmpty ? [] : try await ask(sent)
        guard answers.count == sent.count else {
            throw CKError(
                .internalError,
                "The service answered \(answers.count) of \(sent.count) items of the request; try again,"
                    + " or update the service.",
                details: ["ItemCount": sent.count, "ResultCount": answers.count])
        }
        var next = answers.makeIterator()
        return zip(items, prepared).map { item, wire in
            (
                item,
                wire.flatMap { _ in
                    Result {
                        guard let answer = next.next() else {
                            throw CKError(
                                .internalError, "The service left out an answer; try again.")
                        }
                        return try read(item, answer)
                    }
                }
            )
        }
    }
}

extension CKContainer {
    /// The session of the convenience calls.
    var session: ContainerSession {
        ContainerSession(core: core, pace: defaults.pace(connection.world))
    }
}

extension CKOperation {
    /// The session of the operation's container.
    var containerSession: ContainerSession {
        let values = effectiveConfiguration
        let core = (values.container ?? CKContainer.default()).core
        return ContainerSession(core: core, pace: values.pace(core.connection.world))
    }
}
