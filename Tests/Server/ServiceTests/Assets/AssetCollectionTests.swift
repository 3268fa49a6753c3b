import Foundation
import StratusRecords
import StratusService
import StratusStorage
import StratusTesting
import StratusWire
import Synchronization
import TestSeeds
import Testing

/// Assets without a record are removed after some time; assets of a record are never removed.
@Suite struct AssetCollectionTests {
    private static let day: Double = 24 * 3600

    @Test(arguments: Backend.allCases)
    func unreferencedAssetIsCollectedAfterTwoDays(_ backend: Backend) async throws {
        let world = World(try backend.storage())
        var alice = try await world.person("alice")
        let asset = try await alice.upload([1])
        try await alice.modify([
            hut(.create, "a", [photo(asset)]), hut(.create, "b", [photo(asset)]),
        ])
        world.advance(seconds: 10 * Self.day)
        #expect(await world.service.collectAssets() == AssetCollection())
        alice = try await world.person("alice")
        try await alice.modify([hut(.forceDelete, "a")])
        world.advance(seconds: 10 * Self.day)
        #expect(await world.service.collectAssets() == AssetCollection())
        alice = try await world.person("alice")
        try await alice.modify([
            hut(.forceUpdate, "b", [Field(name: "photo", value: nil)])
        ])
        // The time of the release is unknown, so it is counted from the next collection.
        world.advance(seconds: 10 * Self.day)
        #expect(await world.service.collectAssets() == AssetCollection())
        world.advance(seconds: 2 * Self.day)
        #expect(await world.service.collectAssets() == AssetCollection())
        world.advance(seconds: 1)
        let collection = await world.service.collectAssets()
        #expect(collection.unreferencedAssets == 1 && collection.sizeBytes == 1)
        #expect(try await alice.assetBytes() == 0)
        #expect(try await alice.blobNames().isEmpty)
    }

    @Test func unsavedUploadIsCollected() async throws {
        let world = World()
        let alice = try await world.person("alice")
        _ = try await alice.upload([1])
        world.advance(seconds: 2 * Self.day + 1)
        #expect(await world.service.collectAssets().unreferencedAssets == 1)
        // And can be uploaded again.
        let again = try await world.person("alice")
        let saved = try await again.modify([
            hut(.create, "a", [photo(try await again.upload([1]))])
        ])[0]
        #expect(try await world.fetch(saved.asset) == [1])
    }

    @Test(arguments: Backend.allCases)
    func deletedZoneReleasesItsAssets(_ backend: Backend) async throws {
        let world = World(try backend.storage())
        let alice = try await world.person("alice", with: "Trips")
        let asset = try await alice.upload([1], zoneName: "Trips")
        try await alice.modify(
            [hut(.create, "a", [photo(asset)]), hut(.create, "b", [photo(asset)])], in: "Trips")
        #expect(try await alice.assetRows([1])?.references == 2)
        try await alice.deleteZone("Trips")
        #expect(try await alice.assetRows([1])?.references == 0)
        await world.service.collectAssets()
        world.advance(seconds: 2 * Self.day + 1)
        #expect(await world.service.collectAssets().unreferencedAssets == 1)
    }

    /// Uploads, saves, deletions and collections in a random order; the process ends between any two steps that change
    /// blobs: every record's asset can be read, byte by byte, at any time.
    @Test(arguments: Seeds.forTest("AssetCollectionTests", count: 20))
    func referencedAssetSurvivesCrashes(seed: UInt64) async throws {
        let storage = CrashingStorageEngine(
            SQLiteStorageEngine.inMemory(world: .seeded(seed)))
        var limits = Limits()
        // A session must outlive the days that pass here.
        limits.webAuthTokenSeconds = 1e9
        limits.staySignedInSeconds = 1e9
        limits.assetsPerCollection = 2
        let world = World(storage, limits: limits)
        let alice = try await world.person("alice", with: "Trips")
        var model = Model(seed: seed)
        for _ in 0..<150 {
            storage.crash(after: model.number(8) == 0 ? model.number(4) : nil)
            await model.step(alice)
            storage.crash(after: nil)
            try await model.check(alice)
        }
        // The collection finds what the crashes left.
        for _ in 0..<3 {
            world.advance(seconds: 3 * Self.day)
            await world.service.collectAssets()
        }
        try await model.check(alice)
        let names = try await alice.blobNames()
        #expect(names.count == Set(model.records.values).count)
        let sizes = Set(model.records.values).reduce(0) { $0 + $1.count }
        #expect(try await alice.assetBytes() == Int64(sizes))
    }

    /// The same, with concurrent uploads, saves and collections.
    @Test(arguments: Backend.allCases)
    func concurrentCollectionKeepsReferencedAssets(_ backend: Backend) async throws {
        var limits = Limits()
        // Every unreferenced asset may be removed at once, if it is older than the receipt of a save.
        limits.unreferencedAssetSeconds = 0
        let world = World(try backend.storage(), limits: limits)
        let alice = try await world.person("alice")
        try await withThrowingTaskGroup(of: Void.self) { group in
            for worker in 0..<4 {
                group.addTask {
                    for round in 0..<12 {
                        let bytes = [UInt8(round % 3), 9]
                        let asset = try await alice.upload(bytes)
                        let saved = try await alice.modify([
                            hut(.forceUpdate, "r\(worker)", [photo(asset)])
                        ])[0]
                        world.advance(seconds: 0.001)
                        // If the collection was faster, the save fails with this error.
                        guard saved.code == nil else {
                            #expect(saved.failed?.error.frameworkCode == .assetNotAvailable)
                            continue
                        }
                        let found = try await alice.lookup(["r\(worker)"])[0]
                        #expect(try await world.fetch(found.asset) == bytes)
                    }
                }
            }
            group.addTask {
                for _ in 0..<20 {
                    world.advance(seconds: 0.001)
                    await world.service.collectAssets()
                }
            }
            try await group.waitForAll()
        }
    }
}

/// The records' expected assets.
private struct Model {
    private var random: SeededNumbers
    /// The bytes of each record's asset.
    private(set) var records: [String: [UInt8]] = [:]
    private var uploads: [(asset: AssetReceipt, bytes: [UInt8])] = []

    init(seed: UInt64) { random = SeededNumbers(seed: seed) }

    mutating func number(_ bound: Int) -> Int { Int(random.next() % UInt64(bound)) }

    mutating func step(_ alice: Person) async {
        let name = "r\(number(4))"
        switch number(12) {
        case 0...3:
            let bytes = [UInt8](repeating: UInt8(number(4)), count: 1 + number(2))
            // A crash fails the upload, which the client repeats.
            guard let asset = try? await alice.upload(bytes, zoneName: "Trips") else { return }
            uploads.append((asset, bytes))
        case 4...7:
            guard let upload = uploads.isEmpty ? nil : uploads[number(uploads.count)] else {
                return
            }
            // A save that a crash fails leaves the record as it is.
            let result = try? await alice.modify(
                [hut(.forceReplace, name, [photo(upload.asset)])], in: "Trips")
            if result?[0].code == nil, result != nil { records[name] = upload.bytes }
        case 8:
            // So does a deletion.
            if (try? await alice.modify([hut(.forceDelete, name)], in: "Trips")) != nil {
                records[name] = nil
            }
        case 9:
            // A zone that a crash did not let Alice delete keeps its records.
            if number(4) == 0, (try? await alice.deleteZone("Trips")) != nil {
                records = [:]
                // Without the zone, saves fail and the model stays empty.
                try? await alice.makeZone("Trips")
            }
        case 10: alice.world.advance(seconds: Double(number(60)) * 3600)
        default: await alice.world.service.collectAssets()
        }
    }

    func check(_ alice: Person) async throws {
        let names = ["r0", "r1", "r2", "r3"]
        for (name, result) in zip(names, try await alice.lookup(names, in: "Trips")) {
            guard let bytes = records[name] else {
                #expect(result.record == nil)
                continue
            }
            #expect(try await alice.world.fetch(result.asset) == bytes)
        }
    }
}

/// A storage engine whose blobs stop working after some steps, as if the process had ended there; its rows
/// stay as they were then.
private final class CrashingStorageEngine: StorageEngine {
    struct Crash: Error {}

    private let storage: SQLiteStorageEngine
    private let stepsLeft = Mutex<Int?>(nil)

    init(_ storage: SQLiteStorageEngine) { self.storage = storage }

    var directory: any Directory { storage.directory }

    func crash(after steps: Int?) { stepsLeft.withLock { $0 = steps } }

    func step() throws {
        try stepsLeft.withLock { left in
            guard let steps = left else { return }
            if steps <= 0 { throw Crash() }
            left = steps - 1
        }
    }

    func store(for address: DatabaseAddress) async throws -> any RecordStore {
        try await storage.store(for: address)
    }

    func databases() async throws -> [DatabaseAddress] { try await storage.databases() }

    func databasesWithBlobs() async throws -> [DatabaseAddress] {
        try await storage.databasesWithBlobs()
    }

    func blobs(for address: DatabaseAddress) async throws -> any BlobStore {
        Blobs(storage: self, blobs: try await storage.blobs(for: address))
    }

    func close() async throws { try await storage.close() }

    private struct Blobs: BlobStore {
        let storage: CrashingStorageEngine
        let blobs: any BlobStore

        func begin() async throws -> any BlobWriter {
            try storage.step()
            return Writer(storage: storage, writer: try await blobs.begin())
        }

        func partial(_ name: PartialBlobName) async throws -> any PartialBlob {
            try await blobs.partial(name)
        }

        func partialBytes(of owner: PartialBlobName) async throws -> [String: Int64] {
            try await blobs.partialBytes(of: owner)
        }

        func removePartials(leftBefore milliseconds: Int64) async throws {
            try await blobs.removePartials(leftBefore: milliseconds)
        }

        func open(_ name: BlobName) async throws -> (any BlobReader)? { try await blobs.open(name) }

        func delete(_ name: BlobName) async throws {
            try storage.step()
            try await blobs.delete(name)
        }

        func blobs(beginningWith byte: UInt8) async throws -> [StoredBlob] {
            try await blobs.blobs(beginningWith: byte)
        }
    }

    private struct Writer: BlobWriter {
        let storage: CrashingStorageEngine
        let writer: any BlobWriter

        func write(_ bytes: [UInt8]) async throws {
            try storage.step()
            try await writer.write(bytes)
        }

        func keep(as name: BlobName, atMilliseconds milliseconds: Int64) async throws {
            try storage.step()
            try await writer.keep(as: name, atMilliseconds: milliseconds)
            // The process ended after the rename, before the row was written.
            try storage.step()
        }

        func discard() async { await writer.discard() }
    }
}
