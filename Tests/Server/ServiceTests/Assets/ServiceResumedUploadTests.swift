import StratusRecords
import StratusService
import StratusTesting
import StratusWire
import Synchronization
import Testing

/// Uploads whose bytes come in several requests.
@Suite struct ServiceResumedUploadTests {
    /// A client sends the assets of a record at the same time. After an interruption, what is kept of one must not become
    /// the beginning of another.
    @Test func assetsOfOneRequestAreResumedApart() async throws {
        let world = World()
        let alice = try await world.person("alice")
        let tokens = try await alice.ask(
            AssetsUpload.self,
            .init(tokens: [.init(fieldName: "photo"), .init(fieldName: "plan")])
        ).items
        let addresses = try tokens.map { result in
            String(try #require(result.token).url.dropFirst("/assets/put/".count))
        }
        _ = try await world.service.resumeUpload(
            to: addresses[0], at: 0, isLast: false, pieces([1, 2]))
        #expect(try await world.service.keptBytes(ofUpload: addresses[0]) == 2)
        #expect(try await world.service.keptBytes(ofUpload: addresses[1]) == 0)
        _ = try await world.service.resumeUpload(
            to: addresses[1], at: 0, isLast: true, pieces([3, 4, 5]))
        _ = try await world.service.resumeUpload(
            to: addresses[0], at: 2, isLast: true, pieces([6]))
        #expect(try await alice.assetRows([3, 4, 5]) != nil)
        #expect(try await alice.assetRows([1, 2, 6]) != nil)
    }

    /// Otherwise a user whose connection breaks often could upload nothing for an hour.
    @Test func partsWhoseAddressHasExpiredTakeNoPlaces() async throws {
        let world = World(limits: .with { $0.uploadsPerUser = 1 })
        let alice = try await world.person("alice")
        func leave() async throws {
            _ = try await world.service.resumeUpload(
                to: alice.uploadAddress(), at: 0, isLast: false, pieces([1]))
        }
        try await leave()
        let refused = await #expect(throws: RequestFailure.self) { try await leave() }
        #expect(refused?.error.code == .throttled)
        world.advance(seconds: 1_000)
        try await leave()
    }

    /// Alice continues just before her address expires. While her bytes arrive, parts as old as hers are removed.
    @Test func partThatIsContinuedIsNotRemoved() async throws {
        let world = World(
            try Backend.sqlite.storage(), limits: .with { $0.uploadsPerUser = 1 })
        let (alice, bo) = (try await world.person("alice"), try await world.person("bo"))
        let address = try await alice.uploadAddress(scope: .public)
        _ = try await world.service.resumeUpload(to: address, at: 0, isLast: false, pieces([1]))
        @Sendable func leaveOne() async throws {
            _ = try await world.service.resumeUpload(
                to: bo.uploadAddress(scope: .public), at: 0, isLast: false, pieces([3]))
        }
        try await leaveOne()
        world.advance(seconds: 890)
        let hasSent = Mutex(false)
        let body = AsyncThrowingStream<[UInt8], any Error>(unfolding: {
            guard !hasSent.withLock({ $0 }) else { return nil }
            hasSent.withLock { $0 = true }
            world.advance(seconds: 50)
            try await leaveOne()
            return [2]
        })
        let outcome = try await world.service.resumeUpload(
            to: address, at: 1, isLast: true, body)
        guard case .complete = outcome else {
            Issue.record("The upload is not complete: \(outcome)")
            return
        }
    }
}
