import Foundation
import StratusClient
import StratusRecords
import StratusRuntime
import StratusSync
import StratusTesting
import StratusWire
import Testing

@testable import StratusCache

/// An app that the system woke up gets a correct result, in time.
@Suite(.timeLimit(.minutes(20))) struct BackgroundTests {
    /// The notification that the service pushes for a subscription to a database.
    private func push(of scope: DatabaseScope = .private) throws -> CKNotification {
        let payload = NotificationPayload(
            containerIdentifier: CloudDevice.container, notificationID: "1",
            userRecordName: "_alice", subscriptionID: "stratus-cache-2", scope: scope,
            cause: .database, notificationInfo: nil)
        return try #require(
            CKNotification(
                fromRemoteNotificationDictionary: RemoteNotification(payload: payload).userInfo))
    }

    @Test func notificationReturnsItsFetchResult() async throws {
        let cloud = TestCloud()
        let (phone, tablet) = try await CloudDevice.pair(cloud, ["a": "1"])
        let push = try push()
        #expect(tablet.cache.isAbout(push))
        #expect(await tablet.cache.handle(push) == .noData)
        try phone.save("b", "1")
        try await phone.cache.sync()
        #expect(await tablet.cache.handle(push) == .newData)
        #expect(try tablet.texts() == ["a": "1", "b": "1"])
        #expect(await tablet.cache.handle(push) == .noData, "only what was not here is new")
        tablet.transport.fail(request: 0, .requestLost)
        #expect(await tablet.cache.handle(push) == .failed)
    }

    @Test func notificationOfAnotherDatabaseIsNoData() async throws {
        let phone = try Device(RealService())
        let other = try push(of: .shared)
        #expect(await phone.cache.handle(other) == .noData)
        #expect(phone.link.callNames.isEmpty)
    }

    @Test func syncBeyondItsTimeThrowsTimedOut() async throws {
        let cloud = RealService()
        let phone = try Device(cloud)
        try phone.save("a", "1")
        let gate = Gate()
        phone.link.duringNextSend { await gate.pass() }
        // The time limit is reached as soon as the upload is in flight.
        let world = World(
            nowMilliseconds: phone.time.world.nowMilliseconds,
            uptimeSeconds: phone.time.world.uptimeSeconds, sleep: phone.time.world.sleep,
            timeout: { _ in
                while !gate.isReached {
                    try Task.checkCancellation()
                    await Task.yield()
                }
                gate.open()
            })
        let cache = try CloudCache(
            path: phone.path, remotes: [phone.remote], settings: .quick, world: world)
        let error = await #expect(throws: CacheError.self) { try await cache.sync(within: 25) }
        #expect(error?.code == .timedOut)
        #expect(try await cache.status().operation == nil, "nothing goes on in the background")
        try cache.close()
        try await phone.sync()
        #expect(try await cloud.names() == ["a"] && cloud.saveCount == 1)
    }

    @Test func syncWithinItsTimeSucceeds() async throws {
        let cloud = RealService()
        let phone = try Device(cloud)
        try phone.save("a", "1")
        // The time limit is never reached, however slow the machine is.
        let world = World(
            nowMilliseconds: phone.time.world.nowMilliseconds,
            uptimeSeconds: phone.time.world.uptimeSeconds, sleep: phone.time.world.sleep,
            timeout: { _ in
                let forever = AsyncStream<Void> { _ in }
                for await _ in forever {}
                throw CancellationError()
            })
        let cache = try CloudCache(
            path: phone.path, remotes: [phone.remote], settings: .quick, world: world)
        try await cache.sync(within: 25)
        #expect(try await cloud.names() == ["a"])
        try cache.close()
    }

    @Test func returnOfTheNetworkEndsThePause() async throws {
        var settings = SyncSettings.quick
        settings.firstRetryDelaySeconds = 10
        let cloud = RealService()
        let link = ServiceLink(cloud)
        let path = NSTemporaryDirectory() + "cache-\(UUID().uuidString).sqlite"
        // No pause ends by itself here.
        let world = World(sleep: { _ in
            let forever = AsyncStream<Void> { _ in }
            for await _ in forever {}
            throw CancellationError()
        })
        let cache = try CloudCache(
            path: path, remotes: [link.connection().remote()], settings: settings, world: world)
        link.fail(call: 0, .requestLost(SyncFailure(.networkUnavailable)))
        await cache.start()
        while try await cache.status().isNetworkReachable { await Task.yield() }
        let calls = link.callNames.count
        await cache.databases[0].turn.networkCame()
        while link.callNames.count == calls { await Task.yield() }
        await cache.stop()
        try cache.close()
        for suffix in ["", "-wal", "-shm", "-lock"] {
            // A file that was never created need not be removed.
            try? FileManager.default.removeItem(atPath: path + suffix)
        }
    }

    #if os(Linux)
        /// As defined in linux/rtnetlink.h: a length, a type, flags, a number, a sender.
        private func message(_ type: UInt16, length: UInt32 = 20) -> [UInt8] {
            var bytes = withUnsafeBytes(of: length) { Array($0) }
            bytes += withUnsafeBytes(of: type) { Array($0) }
            bytes += [UInt8](repeating: 0, count: Int(length) - bytes.count)
            return bytes + [UInt8](repeating: 0, count: (4 - bytes.count % 4) % 4)
        }

        @Test func kernelMessagesOfNewNetworksAreRecognized() {
            let (newLink, deletedLink, newAddress, newRoute, deletedRoute):
                (
                    UInt16, UInt16, UInt16, UInt16, UInt16
                ) = (16, 17, 20, 24, 25)
            for arrival in [newLink, newAddress, newRoute] {
                #expect(NetworkWatch.reportsArrival(message(arrival)[...]))
                let after = message(deletedLink, length: 21) + message(arrival)
                #expect(NetworkWatch.reportsArrival(after[...]))
            }
            #expect(
                !NetworkWatch.reportsArrival((message(deletedLink) + message(deletedRoute))[...]))
            #expect(!NetworkWatch.reportsArrival([1, 2, 3]))
            #expect(!NetworkWatch.reportsArrival([UInt8](repeating: 0, count: 64)[...]))
        }
    #endif
}
