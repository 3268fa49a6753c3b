import Foundation
import ShoppingCore
import StratusClient
import StratusRecords
import StratusSync
import StratusTesting
import StratusWire
import Synchronization
import Testing

/// How a change reaches another screen, tested by the sequence of requests and not by time: there is no polling.
@Suite(.timeLimit(.minutes(20)))
struct ChangePropagationTests {
    private let world: ShoppingWorld

    init() throws { world = try ShoppingWorld() }

    /// A device that fetches on its own only once a day, and the log of its requests and pushes.
    private func open(_ device: String, user: String) async throws -> (ShoppingStore, WayLog) {
        let link = try await world.cloud.connect(user: user, device: device)
        let log = WayLog(try #require(link.transport as? any AccountTransport))
        let connection = CloudConnection(
            transport: log, hasAccount: true, deviceID: device, keyStore: world.cloud.keyStore)
        let store = try await world.open(
            device,
            CKContainer(identifier: "iCloud.org.example.Shopping", connection: connection),
            author: user, fetchIntervalSeconds: 86_400)
        return (store, log)
    }

    /// A change on Alice's phone takes one request, and reaches Bob's screen after one push and one fetch, whatever the
    /// change is.
    @Test func changeIsShownAfterOnePushAndOneFetch() async throws {
        let (phone, sent) = try await open("phone", user: world.alice)
        let (bobs, seen) = try await open("bobs", user: world.bob)
        let weekly = try await phone.create(title: "Groceries")
        try await phone.share(weekly)
        let link = try #require(try await phone.invite([world.bob], to: weekly).link)
        let his = try await bobs.join(link)
        try await phone.sync()
        for store in [phone, bobs] { await store.start() }
        var changes = await bobs.changes().makeAsyncIterator()
        /// Performs Alice's actions, and waits until Bob is notified.
        func see(_ sentence: String, _ actions: [ShoppingAction]) async throws {
            // Finishes earlier work.
            for store in [phone, bobs] { try await store.sync() }
            sent.clear()
            seen.clear()
            try await phone.perform(actions, in: weekly)
            while let change = await changes.next(), !change.sentence.hasPrefix(sentence) {}
            // The documented order: which zones changed, then their changes.
            #expect(
                seen.steps == ["push", "changes/database", "changes/zone"], "\(sentence)")
            #expect(sent.steps == ["records/modify"], "\(sentence)")
        }
        try await see("Milk added by", [.add(names: ["Milk"], afterItemID: nil)])
        let milk = try #require(await bobs.list(his)?.items.first?.id)
        try await see("Milk ticked by", [.tick(itemID: milk)])
        // An entry, and the root record with the new title.
        try await see("the list is now called Food by", [.renameList(title: "Food")])
        for number in 0..<5 {
            try await see(
                "Item \(number) added by", [.add(names: ["Item \(number)"], afterItemID: nil)])
        }
        for store in [phone, bobs] { try await store.close() }
    }
}

/// A device's connection to the service, with a log.
private final class WayLog: PassingTransport {
    let inner: any AccountTransport
    private let log = Mutex<[String]>([])

    init(_ inner: any AccountTransport) { self.inner = inner }

    var steps: [String] { log.withLock { $0 } }

    func clear() { log.withLock { $0 = [] } }

    func send<E: Endpoint>(
        _ endpoint: E.Type, _ request: E.Request, to target: RequestTarget, timeoutSeconds: Double
    ) async throws -> E.Answer {
        log.withLock { $0.append(E.path) }
        return try await inner.send(
            endpoint, request, to: target, timeoutSeconds: timeoutSeconds)
    }

    func nextNotification(
        at webcourierURL: String, timeoutSeconds: Double
    ) async throws -> NotificationPayload? {
        let notification = try await inner.nextNotification(
            at: webcourierURL, timeoutSeconds: timeoutSeconds)
        if notification != nil { log.withLock { $0.append("push") } }
        return notification
    }
}
