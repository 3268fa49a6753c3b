import Foundation
import StratusRecords
import StratusStorage
import StratusTesting
import StratusWire
import Synchronization
import Testing

@testable import StratusService

/// The cost of an upload for its sender, and uploads that are refused before their bytes are read.
@Suite struct UploadCostTests {
    private static func throttled() -> World {
        World(
            limits: .with {
                $0.requestsInBurst = 20
                $0.requestsPerSecond = 1
                $0.bytesCountedAsRequest = 100
            }, isThrottled: true)
    }

    private static func bytes(_ count: Int) -> [UInt8] { [UInt8](repeating: 7, count: count) }

    /// A body whose client disconnects in the middle.
    private static func broken(after bytes: [UInt8]) -> AsyncThrowingStream<[UInt8], any Error> {
        AsyncThrowingStream { continuation in
            continuation.yield(bytes)
            continuation.finish(throwing: CancellationError())
        }
    }

    private static func isThrottled(_ person: Person) async -> Bool {
        await person.refusal(ZonesList.self, .init())?.error.code == .throttled
    }

    @Test func uploadCostsItsBytes() async throws {
        let world = Self.throttled()
        let (alice, bob) = (try await world.person("alice"), try await world.person("bob"))
        _ = try await alice.upload(Self.bytes(3_000))
        #expect(await Self.isThrottled(alice))
        #expect(await !Self.isThrottled(bob))
        world.advance(seconds: 60)
        #expect(await !Self.isThrottled(alice))
    }

    /// A sender that disconnects early pays for the bytes that were written and hashed.
    @Test func brokenUploadCostsItsReceivedBytes() async throws {
        let world = Self.throttled()
        let alice = try await world.person("alice")
        let address = try await alice.uploadAddress()
        await #expect(throws: RequestFailure.self) {
            try await world.service.upload(
                to: address, Self.broken(after: Self.bytes(3_000)))
        }
        #expect(await Self.isThrottled(alice))
    }

    @Test(arguments: [false, true]) func resumedPieceCostsItsBytes(isLast: Bool) async throws {
        let world = Self.throttled()
        let alice = try await world.person("alice")
        let address = try await alice.uploadAddress()
        _ = try await world.service.resumeUpload(
            to: address, at: 0, isLast: isLast, pieces(Self.bytes(3_000)))
        #expect(await Self.isThrottled(alice))
    }

    /// The last piece costs only its own bytes; if it fails, it costs the bytes that were read again for it.
    @Test func failedLastPieceCostsTheBytesReadAgain() async throws {
        let world = Self.throttled()
        let alice = try await world.person("alice")
        let address = try await alice.uploadAddress()
        _ = try await world.service.resumeUpload(
            to: address, at: 0, isLast: false, pieces(Self.bytes(3_000)))
        world.advance(seconds: 60)
        await #expect(throws: RequestFailure.self) {
            try await world.service.resumeUpload(
                to: address, at: 3_000, isLast: true, Self.broken(after: [1]))
        }
        #expect(await Self.isThrottled(alice))
        world.advance(seconds: 60)
        _ = try await world.service.resumeUpload(to: address, at: 3_001, isLast: true, pieces([2]))
        #expect(await !Self.isThrottled(alice))
    }

    /// They also count as transferred bytes, since an upload's address has no rate limit of its own.
    @Test func repeatedlyFailingLastPieceIsThrottled() async throws {
        let world = World(
            limits: .with {
                $0.transferBytesInBurst = 10_000
                $0.transferBytesPerSecond = 1
            }, isThrottled: true)
        let alice = try await world.person("alice")
        let address = try await alice.uploadAddress()
        _ = try await world.service.resumeUpload(
            to: address, at: 0, isLast: false, pieces(Self.bytes(3_000)))
        var codes: [ServiceError.Code] = []
        for _ in 0..<5 {
            do {
                _ = try await world.service.resumeUpload(
                    to: address, at: 3_000, isLast: true, Self.broken(after: []))
            } catch {
                codes.append(error.error.code)
            }
        }
        #expect(codes.count == 5 && codes[0] != .throttled && codes.last == .throttled)
    }

    // MARK: Uploads without a record

    /// Otherwise the service would remember thousands of assets of each user that have had their records for long.
    @Test func uploadsThatNeedNoRecordAnyMoreAreForgotten() async throws {
        let world = World()
        let database = DatabaseAddress(world.address, .public)
        let store = try await world.service.storage.store(for: database)
        let (uploads, work) = (UnclaimedUploads(), RequestWork())
        for number in 0..<1_000 {
            let blob = BlobName(
                sha256: [UInt8(number / 256), UInt8(number % 256)], generation: 1)
            uploads.add(
                AssetRow(blob: blob, sizeBytes: 1, touchedMilliseconds: 0), by: "_a", to: database)
            let room = try await store.read { reader in
                var lookedUp: Set<[UInt8]> = []
                return try uploads.room(
                    for: "_a", marked: 1, in: database, freeBytes: 10_000, largestBytes: 1, reader,
                    work, lookedUp: &lookedUp)
            }
            #expect(room == 10_000)
        }
        // Each was looked up once.
        #expect(work.cost == 1_000.0 / 160)
    }

    @Test func fullDatabaseCausesNoLookUps() async throws {
        let world = World()
        let database = DatabaseAddress(world.address, .public)
        let store = try await world.service.storage.store(for: database)
        let (uploads, work) = (UnclaimedUploads(), RequestWork())
        let blob = BlobName(sha256: [1], generation: 1)
        uploads.add(
            AssetRow(blob: blob, sizeBytes: 1, touchedMilliseconds: 0), by: "_a", to: database)
        let room = try await store.read { reader in
            var lookedUp: Set<[UInt8]> = []
            return try uploads.room(
                for: "_a", marked: 1, in: database, freeBytes: 0, largestBytes: 1, reader, work,
                lookedUp: &lookedUp)
        }
        #expect(room == 0 && work.cost == 0)
    }

    /// An upload's transaction, for which other writes wait, only looks up what was added since the read before it.
    @Test func uploadsLookedUpBeforeTheTransactionAreNotLookedUpAgain() async throws {
        let world = World()
        let database = DatabaseAddress(world.address, .public)
        let store = try await world.service.storage.store(for: database)
        let (uploads, before, inside) = (UnclaimedUploads(), RequestWork(), RequestWork())
        func add(_ number: UInt8) async throws {
            let row = AssetRow(
                blob: BlobName(sha256: [number], generation: 1), sizeBytes: 1,
                touchedMilliseconds: 0)
            let stored = try await store.write { try $0.admit(row) }
            uploads.add(stored, by: "_a", to: database)
        }
        for number in 0..<3 { try await add(UInt8(number)) }
        let found = try await store.read { reader in
            var lookedUp: Set<[UInt8]> = []
            _ = try uploads.room(
                for: "_a", marked: 1, in: database, freeBytes: 10, largestBytes: 10, reader, before,
                lookedUp: &lookedUp)
            return lookedUp
        }
        #expect(found == Set<[UInt8]>([[0], [1], [2]]))
        #expect(before.cost == 3.0 / 160)
        try await add(3)
        let room = try await store.read { reader in
            var lookedUp = found
            return try uploads.room(
                for: "_a", marked: 1, in: database, freeBytes: 10, largestBytes: 10, reader, inside,
                lookedUp: &lookedUp)
        }
        #expect(room == 3)
        #expect(inside.cost == 1.0 / 160)
    }

    /// Everyone who has an asset's address can read the blob's generation in it.
    @Test func generationOfABlobDoesNotTellItsUploaderToOthers() {
        let address = ContainerAddress(container: World.container, environment: .development)
        let database = DatabaseAddress(address, .public)
        let signer = TokenSigner(key: [1])
        let mark = UnclaimedUploads.mark(of: "_a", in: database, signer)
        #expect(mark == UnclaimedUploads.mark(of: "_a", in: database, signer))
        #expect(mark != UnclaimedUploads.mark(of: "_a", in: database, TokenSigner(key: [2])))
        let other = DatabaseAddress(address, .private(owner: "_b"))
        #expect(mark != UnclaimedUploads.mark(of: "_a", in: other, signer))
    }

    // MARK: Announced lengths

    /// A body that records whether its bytes were requested.
    private final class Watched: Sendable {
        private let asked = Mutex(false)

        var wasRead: Bool { asked.withLock { $0 } }

        var body: AsyncStream<[UInt8]> {
            AsyncStream(unfolding: {
                self.asked.withLock { $0 = true }
                return nil
            })
        }
    }

    @Test(arguments: [Int64(7_001), .max]) func uploadAnnouncedBeyondTheQuotaIsNotRead(
        _ announced: Int64
    ) async throws {
        let world = World(
            limits: .with {
                $0.privateDatabaseBytes = 10_000
                $0.assetBytes = .max
            })
        let alice = try await world.person("alice")
        try await alice.modify([
            hut(.create, "a", [photo(try await alice.upload(Self.bytes(3_000)))])
        ])
        let address = try await alice.uploadAddress()
        let watched = Watched()
        let whole = await #expect(throws: RequestFailure.self) {
            try await world.service.upload(
                to: address, announcedBytes: announced, watched.body)
        }
        #expect(whole?.error.code == .quotaExceeded)
        _ = try await world.service.resumeUpload(
            to: address, at: 0, isLast: false, pieces(Self.bytes(1_000)))
        let go = await #expect(throws: RequestFailure.self) {
            try await world.service.resumeUpload(
                to: address, at: 1_000, isLast: true, announcedBytes: announced - 1_000,
                watched.body)
        }
        #expect(go?.error.code == .quotaExceeded)
        #expect(!watched.wasRead)
        // The upload can never be completed, so its bytes are discarded.
        #expect(try await world.service.keptBytes(ofUpload: address) == 0)
    }

    @Test func pieceAnnouncedBeyondTheAssetLimitIsNotRead() async throws {
        let world = World(limits: .with { $0.assetBytes = 2_000 })
        let alice = try await world.person("alice")
        let address = try await alice.uploadAddress()
        _ = try await world.service.resumeUpload(
            to: address, at: 0, isLast: false, pieces(Self.bytes(1_000)))
        let watched = Watched()
        let go = await #expect(throws: RequestFailure.self) {
            try await world.service.resumeUpload(
                to: address, at: 1_000, isLast: false, announcedBytes: 1_001, watched.body)
        }
        #expect(go?.unreadBody == .tooLarge && !watched.wasRead)
    }
}
