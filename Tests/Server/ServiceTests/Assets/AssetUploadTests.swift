import Foundation
import StratusRecords
import StratusService
import StratusStorage
import StratusTesting
import StratusWire
import Synchronization
import TestProcesses
import Testing

/// Addresses for uploads, and the uploads themselves.
@Suite struct AssetUploadTests {
    // MARK: Addresses for uploads

    @Test func uploadURLsFollowTheRequestOrder() async throws {
        let alice = try await World().person("alice", with: "Trips")
        let tokens = try await alice.ask(
            AssetsUpload.self,
            .init(
                tokens: [
                    .init(recordName: "hut-3", recordType: "Hut", fieldName: "photo"),
                    .init(fieldName: "plan"),
                    .init(recordName: "_bad", fieldName: "photo"),
                    .init(recordName: "hut-3", fieldName: "not a name"),
                ], zoneID: zone("Trips"))
        ).items
        #expect(tokens[0].token?.recordName == "hut-3")
        #expect(tokens[0].token?.fieldName == "photo")
        #expect(tokens[0].token?.url.hasPrefix("/assets/put/") == true)
        #expect(UUID(uuidString: tokens[1].token?.recordName ?? "") != nil)
        #expect(tokens[2].failure?.error.code == .badRequest)
        #expect(tokens[3].failure?.fieldName == "not a name")
    }

    /// The advice of `stratus doctor` for an asset without its file is to save it again.
    @Test(arguments: Backend.allCases)
    func uploadOfTheSameContentReplacesALostFile(_ backend: Backend) async throws {
        let world = World(try backend.storage())
        let alice = try await world.person("alice")
        let first = try await alice.modify([
            hut(.create, "a", [photo(try await alice.upload([1, 2]))])
        ])[0]
        let database = DatabaseAddress(world.address, .private(owner: alice.name))
        let lost = try #require(try await alice.blobNames().first)
        try await world.service.storage.blobs(for: database).delete(lost)
        let second = try await alice.modify([
            hut(.create, "b", [photo(try await alice.upload([1, 2]))])
        ])[0]
        #expect(try await world.fetch(second.asset) == [1, 2])
        #expect(try await world.fetch(first.asset) == [1, 2])
        #expect(try await alice.blobNames() == [lost])
    }

    /// Otherwise the user's uploads of this content would fail until the operator repairs the file.
    @Test func uploadOfTheSameContentReplacesAnUnusableFile() async throws {
        let folder = try RunFolder.newFolder()
        let world = World(try SQLiteStorageEngine(folder: folder))
        let alice = try await world.person("alice")
        let first = try await alice.modify([
            hut(.create, "a", [photo(try await alice.upload([1, 2]))])
        ])[0]
        let files = try FileManager.default.subpathsOfDirectory(atPath: folder)
        let asset = try #require(
            files.filter { $0.contains(".assets/") }.max { $0.count < $1.count })
        let path = folder + "/" + asset
        try FileManager.default.removeItem(atPath: path)
        // A link to itself cannot be opened, also not by root.
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: path)
        _ = try await alice.upload([1, 2])
        #expect(try await world.fetch(first.asset) == [1, 2])
    }

    @Test func invalidUploadTokenRequestIsRefused() async throws {
        let alice = try await World().person("alice")
        let tokens = (0...200).map { AssetsUpload.Item(fieldName: "photo\($0)") }
        let tooMany = await alice.refusal(AssetsUpload.self, .init(tokens: tokens))
        #expect(tooMany?.error.frameworkCode == .limitExceeded)
        for zoneID in [zone("Nowhere"), ZoneIDDictionary(zoneName: "Trips", ownerRecordName: "_b")]
        {
            let missing = await alice.refusal(
                AssetsUpload.self, .init(tokens: [.init(fieldName: "photo")], zoneID: zoneID))
            #expect(missing?.error.code == .zoneNotFound)
        }
        let nobody = await alice.world.nobody.refusal(
            AssetsUpload.self, .init(tokens: [.init(fieldName: "photo")]), in: .public)
        #expect(nobody?.error.code == .authenticationRequired)
    }

    @Test func uploadURLExpiresAfterFifteenMinutes() async throws {
        let world = World()
        let alice = try await world.person("alice")
        let address = try await alice.uploadAddress()
        world.advance(seconds: 899)
        _ = try await world.service.upload(to: address, pieces([1]))
        world.advance(seconds: 1)
        await #expect(throws: RequestFailure.self) {
            try await world.service.upload(to: address, pieces([1]))
        }
        await #expect(throws: RequestFailure.self) {
            try await world.service.upload(to: "nonsense", pieces([1]))
        }
    }

    // MARK: Uploading

    @Test(arguments: Backend.allCases)
    func savedAssetDownloadsAsUploaded(_ backend: Backend) async throws {
        let alice = try await World(backend.storage()).person("alice", with: "Trips")
        let bytes = (0..<1_500_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        let uploaded = try await alice.upload(bytes, zoneName: "Trips")
        #expect(uploaded.sizeBytes == 1_500_000)
        #expect(uploaded.downloadURL == nil)
        let checksum = Data(base64Encoded: uploaded.fileChecksum ?? "") ?? Data()
        #expect(checksum.count == 21 && checksum.first == 1)
        #expect(Data(base64Encoded: uploaded.referenceChecksum ?? "")?.count == 21)
        #expect(uploaded.wrappingKey != nil)
        let saved = try await alice.modify(
            [hut(.create, "a", [photo(uploaded), beds(3)])], in: "Trips")
        let found = try await alice.lookup(["a"], in: "Trips")
        let page = try await alice.page("Trips").records
        for record in [saved[0], found[0], page[0]] {
            let asset = try #require(record.asset)
            #expect(asset.fileChecksum == uploaded.fileChecksum)
            #expect(asset.sizeBytes == 1_500_000)
            #expect(asset.receipt == nil)
            #expect(asset.downloadURL?.hasSuffix("/${f}") == true)
            #expect(try await alice.world.fetch(asset) == bytes)
        }
        let queried = try await alice.ask(
            RecordsQuery.self,
            .init(query: QueryDictionary(recordType: "Hut"), zoneID: zone("Trips"))
        ).records
        #expect(try await alice.world.fetch(queried[0].asset) == bytes)
    }

    @Test func tooLargeAssetIsRefusedAndLeavesNothing() async throws {
        let world = World(limits: .with { $0.assetBytes = 1_000 })
        let alice = try await world.person("alice")
        let address = try await alice.uploadAddress()
        for body in [pieces([UInt8](repeating: 7, count: 1_001)), pieces([1], [], [2])] {
            let failure = await uploadFailure(world, address, announced: 1_001, body)
            #expect(
                failure?.unreadBody == .tooLarge && failure?.error.frameworkCode == .limitExceeded)
        }
        let failure = await uploadFailure(
            world, address,
            pieces([UInt8](repeating: 7, count: 600), Array(repeating: 8, count: 401)))
        #expect(failure?.error.frameworkCode == .limitExceeded)
        let full = try await alice.upload([UInt8](repeating: 7, count: 1_000))
        #expect(full.sizeBytes == 1_000)
        #expect(try await alice.assetBytes() == 1_000)
    }

    @Test func concurrentUploadsPerUserAreLimited() async throws {
        let world = World(limits: .with { $0.uploadsPerUser = 1 })
        let alice = try await world.person("alice")
        let address = try await alice.uploadAddress()
        let (first, input) = await beginUpload(world, address, [1])
        let refused = await uploadFailure(world, address, pieces([2]))
        #expect(refused?.error.code == .throttled)
        #expect(try await world.person("bob").upload([2]).sizeBytes == 1)
        input.finish()
        #expect(try await first.value.singleFile.sizeBytes == 1)
        #expect(await uploadFailure(world, address, pieces([2])) == nil)
    }

    @Test func uploadIsRefusedIfAnotherTookItsRoom() async throws {
        let world = World(limits: .with { $0.privateDatabaseBytes = 1_000 })
        let alice = try await world.person("alice")
        let address = try await alice.uploadAddress()
        let (first, input) = await beginUpload(
            world, address, [UInt8](repeating: 1, count: 600))
        #expect(try await alice.upload([UInt8](repeating: 2, count: 600)).sizeBytes == 600)
        input.finish()
        let refused = await #expect(throws: RequestFailure.self) { try await first.value }
        #expect(refused?.error.code == .quotaExceeded)
        #expect(try await alice.assetBytes() == 600)
        #expect(try await alice.blobNames().count == 1)
    }

    /// Otherwise one user could fill the public database with files that no record has.
    @Test func uploadsWithoutARecordLeaveAsMuchAsTheyTake() async throws {
        let world = World(
            limits: .with {
                $0.publicAssetBytes = 1_000
                $0.privateDatabaseBytes = 1_000
                $0.assetBytes = 1_000
            })
        let alice = try await world.person("alice")
        let bob = try await world.person("bob")
        func upload(
            _ content: UInt8, _ count: Int, by person: Person, in scope: DatabaseScope = .public
        ) async throws -> AssetReceipt {
            try await person.upload([UInt8](repeating: content, count: count), scope: scope)
        }
        let first = try await upload(1, 300, by: alice)
        let tooLarge = await #expect(throws: RequestFailure.self) {
            try await upload(2, 201, by: alice)
        }
        #expect(tooLarge?.error.code == .quotaExceeded)
        let second = try await upload(2, 200, by: alice)
        let third = await #expect(throws: RequestFailure.self) {
            try await upload(3, 1, by: alice)
        }
        #expect(third?.error.reason.contains("uploads that no record has yet") == true)
        // A single asset may take all that is left.
        _ = try await upload(4, 400, by: bob)
        try await alice.modify(
            [hut(.create, "a", [photo(first)]), hut(.create, "b", [photo(second)])],
            scope: .public)
        _ = try await upload(3, 100, by: alice)
        // Another user's quota is not affected.
        _ = try await upload(1, 400, by: alice, in: .private)
        _ = try await upload(2, 400, by: alice, in: .private)
    }

    /// Otherwise each restart would let a user take half of what is free once more.
    @Test func uploadsWithoutARecordAreCountedAfterARestart() async throws {
        let storage = SQLiteStorageEngine.inMemory(world: .seeded(7))
        let first = smallWorld(storage)
        _ = try await first.person("bob")
        let before = try await first.person("alice")
        for content: UInt8 in [1, 2] {
            _ = try await before.upload([UInt8](repeating: content, count: 250), scope: .public)
        }
        let restarted = smallWorld(storage)
        let (alice, bob) = try await (restarted.person("alice"), restarted.person("bob"))
        let refused = await #expect(throws: RequestFailure.self) {
            try await alice.upload([3], scope: .public)
        }
        #expect(refused?.error.reason.contains("uploads that no record has yet") == true)
        _ = try await bob.upload([UInt8](repeating: 4, count: 400), scope: .public)
    }

    /// Otherwise a user who deletes many records could not upload for two days after a restart. An upload that no record
    /// has had is counted.
    @Test func assetsOfDeletedRecordsAreNotCountedAfterARestart() async throws {
        let storage = SQLiteStorageEngine.inMemory(world: .seeded(7))
        let first = smallWorld(storage)
        let before = try await first.person("alice")
        _ = try await before.upload([UInt8](repeating: 1, count: 100), scope: .public)
        let receipt = try await before.upload([UInt8](repeating: 2, count: 300), scope: .public)
        try await before.modify([hut(.create, "a", [photo(receipt)])], scope: .public)
        try await before.modify([hut(.forceDelete, "a")], scope: .public)
        await first.service.collectAssets()
        let alice = try await smallWorld(storage).person("alice")
        // Of the 600 bytes that are free, half of what the counted 100 leave.
        let refused = await #expect(throws: RequestFailure.self) {
            try await alice.upload([UInt8](repeating: 3, count: 251), scope: .public)
        }
        #expect(refused?.error.code == .quotaExceeded)
        _ = try await alice.upload([UInt8](repeating: 4, count: 250), scope: .public)
    }

    private func smallWorld(_ storage: any StorageEngine) -> World {
        World(
            storage,
            limits: .with {
                $0.publicAssetBytes = 1_000
                $0.assetBytes = 1_000
            })
    }

    /// The row of the second upload may be written before the first upload has returned.
    @Test func uploadsThatEndTogetherLeaveAsMuchAsTheyTake() async throws {
        let work = Mutex<(@Sendable () async -> Void)?>(nil)
        let storage = WatchedStorage(afterWrite: { address in
            guard address.tenant == .public else { return }
            let body = work.withLock { work in
                let body = work
                work = nil
                return body
            }
            await body?()
        })
        let world = World(
            storage,
            limits: .with {
                $0.publicAssetBytes = 1_000
                $0.assetBytes = 1_000
            })
        let alice = try await world.person("alice")
        let first = try await alice.uploadAddress(scope: .public)
        let second = try await alice.uploadAddress(scope: .public)
        let refused = Mutex<RequestFailure?>(nil)
        work.withLock { work in
            work = {
                let failure = await uploadFailure(
                    world, second, pieces([UInt8](repeating: 2, count: 201)))
                refused.withLock { $0 = failure }
            }
        }
        _ = try await world.service.upload(
            to: first, pieces([UInt8](repeating: 1, count: 300)))
        #expect(refused.withLock { $0?.error.code } == .quotaExceeded)
    }

    /// A public database with room for 1,000 bytes, of which 300 are Alice's and the others Bob's.
    private func fullPublicDatabase(
        bytesOfBob count: Int
    ) async throws -> (world: World, alice: Person) {
        let world = World(
            limits: .with {
                $0.publicAssetBytes = 1_000
                $0.assetBytes = 1_000
            })
        let alice = try await world.person("alice")
        _ = try await alice.upload([UInt8](repeating: 1, count: 300), scope: .public)
        let bob = try await world.person("bob")
        _ = try await bob.upload([UInt8](repeating: 2, count: count), scope: .public)
        return (world, alice)
    }

    /// Saving records would not help the user then.
    @Test func fullDatabaseIsNotBlamedOnTheUsersUploads() async throws {
        let (_, alice) = try await fullPublicDatabase(bytesOfBob: 700)
        let refused = await #expect(throws: RequestFailure.self) {
            try await alice.upload([3], scope: .public)
        }
        #expect(refused?.error.code == .quotaExceeded)
        #expect(refused?.error.reason.contains("uploads that no record has yet") == false)
    }

    /// Records for the other uploads would leave no more room for it.
    @Test func uploadThatTheQuotaCannotHoldIsNotBlamedOnTheUsersUploads() async throws {
        let (world, alice) = try await fullPublicDatabase(bytesOfBob: 650)
        for (count, isBlamed) in [(51, false), (50, true)] {
            let address = try await alice.uploadAddress(scope: .public)
            let refused = await uploadFailure(
                world, address, pieces([UInt8](repeating: 3, count: count)))
            #expect(refused?.error.code == .quotaExceeded)
            let reason = try #require(refused?.error.reason)
            #expect(reason.contains("uploads that no record has yet") == isBlamed)
        }
    }

    @Test func sameContentIsStoredOncePerDatabase() async throws {
        let alice = try await World().person("alice")
        let first = try await alice.upload([1, 2, 3])
        let second = try await alice.upload([1, 2, 3])
        #expect(first.fileChecksum == second.fileChecksum)
        #expect(try await alice.assetBytes() == 3)
        #expect(try await alice.blobNames().count == 1)
    }

    /// Otherwise a checksum would reveal that another user has the same file.
    @Test func assetChecksumsDifferBetweenDatabases() async throws {
        let world = World()
        let alice = try await world.person("alice").upload([1, 2, 3])
        let bob = try await world.person("bob").upload([1, 2, 3])
        let publicly = try await world.person("bob").upload([1, 2, 3], scope: .public)
        #expect(Set([alice, bob, publicly].map(\.fileChecksum)).count == 3)
        #expect(publicly.wrappingKey == nil && publicly.referenceChecksum == nil)
    }
}

/// An upload whose first bytes the service has read.
private func beginUpload(
    _ world: World, _ address: String, _ bytes: [UInt8]
) async -> (
    upload: Task<AssetsUpload.Uploaded, any Error>, input: AsyncStream<[UInt8]>.Continuation
) {
    let (body, input) = AsyncStream<[UInt8]>.makeStream()
    let (reading, isReading) = AsyncStream<Void>.makeStream()
    let upload = Task<AssetsUpload.Uploaded, any Error> {
        try await world.service.upload(
            to: address,
            body.map { piece in
                isReading.yield()
                return piece
            })
    }
    input.yield(bytes)
    for await _ in reading { break }
    return (upload, input)
}

private func uploadFailure(
    _ world: World, _ address: String, announced: Int64? = nil, _ body: AsyncStream<[UInt8]>
) async -> RequestFailure? {
    do {
        _ = try await world.service.upload(to: address, announcedBytes: announced, body)
        return nil
    } catch {
        return error
    }
}
