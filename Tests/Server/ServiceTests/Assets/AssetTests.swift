import Foundation
import StratusRecords
import StratusService
import StratusStorage
import StratusTesting
import StratusWire
import Testing

/// Uploading, saving, fetching and attaching assets again.
@Suite struct AssetTests {
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
        let (body, input) = AsyncStream<[UInt8]>.makeStream()
        let (reading, isReading) = AsyncStream<Void>.makeStream()
        let first = Task {
            try await world.service.upload(
                to: address,
                body.map { piece in
                    isReading.yield()
                    return piece
                })
        }
        input.yield([1])
        for await _ in reading { break }
        let refused = await uploadFailure(world, address, pieces([2]))
        #expect(refused?.error.code == .throttled)
        #expect(try await world.person("bob").upload([2]).sizeBytes == 1)
        input.finish()
        #expect(try await first.value.singleFile.sizeBytes == 1)
        #expect(await uploadFailure(world, address, pieces([2])) == nil)
    }

    @Test func sameContentIsStoredOncePerDatabase() async throws {
        let alice = try await World().person("alice")
        let first = try await alice.upload([1, 2, 3])
        let second = try await alice.upload([1, 2, 3])
        #expect(first.fileChecksum == second.fileChecksum)
        #expect(try await alice.assetBytes() == 3)
        #expect(try await alice.blobNames().count == 1)
    }

    /// Else a checksum would tell whether somebody else has a file.
    @Test func assetChecksumsDifferBetweenDatabases() async throws {
        let world = World()
        let alice = try await world.person("alice").upload([1, 2, 3])
        let bob = try await world.person("bob").upload([1, 2, 3])
        let publicly = try await world.person("bob").upload([1, 2, 3], scope: .public)
        #expect(Set([alice, bob, publicly].map(\.fileChecksum)).count == 3)
        #expect(publicly.wrappingKey == nil && publicly.referenceChecksum == nil)
    }

    // MARK: Saving

    @Test func assetWithoutValidReceiptIsRefused() async throws {
        let alice = try await World().person("alice")
        var asset = try await alice.upload([1])
        let good = photo(asset)
        asset.receipt = nil
        var forged = asset
        forged.receipt = "Zm9yZ2Vk"
        let results = try await alice.modify([
            hut(.create, "a", [photo(asset)]), hut(.create, "b", [good]),
            hut(.create, "c", [photo(forged)]), hut(.forceUpdate, "d", [photo(AssetReceipt())]),
        ])
        #expect(results.map(\.code) == [.badRequest, nil, .badRequest, .badRequest])
        #expect(results[0].failed?.error.frameworkCode == .assetNotAvailable)
        #expect(results[2].failed?.error.frameworkCode == .assetNotAvailable)
    }

    /// Our client sends all fields when it saves with the policy "all keys".
    @Test func fetchedAssetIsAcceptedInItsOwnRecord() async throws {
        let alice = try await World().person("alice")
        let uploaded = try await alice.upload([1, 2])
        let saved = try await alice.modify([hut(.create, "a", [photo(uploaded), beds(1)])])[0]
        let read = try #require(saved.asset)
        let updated = try await alice.modify([
            hut(.update, "a", [photo(read), beds(2)], tag: saved.record?.recordChangeTag)
        ])[0]
        #expect(try await alice.world.fetch(updated.asset) == [1, 2])
        let replaced = try await alice.modify([hut(.forceReplace, "a", [photo(read)])])[0]
        #expect(try await alice.world.fetch(replaced.asset) == [1, 2])
        let merged = try await alice.modify([hut(.forceUpdate, "a", [beds(5)])])[0]
        #expect(try await alice.world.fetch(merged.asset) == [1, 2])
        let elsewhere = try await alice.modify([hut(.create, "b", [photo(read)])])[0]
        #expect(elsewhere.failed?.error.frameworkCode == .assetNotAvailable)
    }

    /// A device with an old copy of the record learns that it is old, not that its asset is.
    @Test func staleRecordWithStaleAssetReturnsConflict() async throws {
        let alice = try await World().person("alice")
        let first = try await alice.upload([1])
        let old = try await alice.modify([hut(.create, "a", [photo(first)])])[0]
        let second = try await alice.upload([2])
        try await alice.modify([hut(.forceUpdate, "a", [photo(second)])])
        let stale = try await alice.modify([
            hut(
                .update, "a", [photo(try #require(old.asset))], tag: old.record?.recordChangeTag)
        ])[0]
        #expect(stale.code == .conflict)
        let server = try #require(stale.failed?.serverRecord)
        #expect(try await alice.world.fetch(RecordResult.record(server).asset) == [2])
        #expect(RecordResult.record(server).asset?.receipt == nil)
    }

    @Test func receiptIsValidForItsZoneAndUserOnly() async throws {
        let world = World()
        let alice = try await world.person("alice")
        let bob = try await world.person("bob")
        try await alice.makeZone("Trips")
        let asset = try await alice.upload([1], zoneName: "Trips")
        let inDefaultZone = try await alice.modify([hut(.create, "a", [photo(asset)])])[0]
        #expect(inDefaultZone.failed?.error.frameworkCode == .assetNotAvailable)
        let ofBob = try await bob.modify([hut(.create, "a", [photo(asset)])])[0]
        #expect(ofBob.failed?.error.frameworkCode == .assetNotAvailable)
        let publicAsset = try await alice.upload([1], scope: .public)
        let stolen = try await bob.modify(
            [hut(.create, "a", [photo(publicAsset)])], scope: .public)[0]
        #expect(stolen.failed?.error.frameworkCode == .assetNotAvailable)
        let own = try await alice.modify(
            [hut(.create, "a", [photo(publicAsset)])], scope: .public)[0]
        #expect(own.code == nil)
        let read = try await world.nobody.lookup(["a"], scope: .public)[0]
        #expect(try await world.fetch(read.asset) == [1])
        // And it is good for a day.
        let late = try await alice.upload([5], zoneName: "Trips")
        world.advance(seconds: 24 * 3600)
        let afterADay = await alice.again().lateSave(late)
        #expect(afterADay?.frameworkCode == .assetNotAvailable)
    }

    @Test func assetListIsSavedAndReturned() async throws {
        let alice = try await World().person("alice")
        let assets = [
            try await alice.upload([1]), try await alice.upload([2]), try await alice.upload([1]),
        ]
        let saved = try await alice.modify([
            hut(.create, "a", [Field(name: "photos", value: .assetList(assets))])
        ])[0]
        guard case .assetList(let read) = saved.values["photos"] else {
            Issue.record("no list")
            return
        }
        for (asset, byte) in zip(read, [1, 2, 1] as [UInt8]) {
            #expect(try await alice.world.fetch(asset) == [byte])
        }
        let shortened = try await alice.modify([
            hut(.forceUpdate, "a", [Field(name: "photos", value: .assetList([read[1]]))])
        ])[0]
        #expect(shortened.code == nil)
        let tooMany = try await alice.modify([
            hut(
                .create, "b",
                [Field(name: "photos", value: .assetList(Array(repeating: assets[0], count: 501)))])
        ])[0]
        #expect(tooMany.failed?.error.frameworkCode == .limitExceeded)
    }

    @Test func failedAtomicRequestReferencesNoAsset() async throws {
        let world = World()
        let alice = try await world.person("alice", with: "Trips")
        let asset = try await alice.upload([1], zoneName: "Trips")
        let failure = await alice.refusal(
            RecordsModify.self,
            .init(
                operations: [hut(.create, "a", [photo(asset)]), hut(.update, "gone")],
                zoneID: zone("Trips"), isAtomic: true))
        #expect(failure?.error.code == .atomicError)
        let row = try await alice.assetRows([1])
        #expect(row?.references == 0)
    }

    /// Text that looks like what is looked for in the stored bytes.
    @Test func stringFieldsResemblingReceiptsAreUnchanged() async throws {
        let alice = try await World().person("alice")
        let fields = [
            text("receipt", #"x"receipt":"y"#), text("note", #""receipt":"#),
            Field(name: "names", value: .stringList(["receipt", #""receipt":""#])),
        ]
        let saved = try await alice.modify([hut(.create, "a", fields)])[0]
        for field in fields { #expect(saved.values[field.name] == field.value) }
        #expect(try await alice.modify([hut(.forceDelete, "a")])[0].tombstone != nil)
    }

    // MARK: Attaching again

    @Test func savedAssetIsRereferencedWithoutUpload() async throws {
        let alice = try await World().person("alice", with: "Trips")
        try await alice.makeZone("Plans")
        let asset = try await alice.upload([4, 2], zoneName: "Trips")
        try await alice.modify(
            [hut(.create, "a", [photo(asset), beds(1)])], in: "Trips")
        let answer = try await alice.ask(
            AssetsRereference.self,
            .init(
                assets: [
                    .init(recordName: "a", fieldName: "photo"),
                    .init(recordName: "a", fieldName: "beds"),
                    .init(recordName: "b", fieldName: "photo"),
                ], zoneID: zone("Trips"), targetZoneID: zone("Plans"))
        ).items
        let again = try #require(answer[0].asset)
        #expect(again.fileChecksum == asset.fileChecksum && again.receipt != nil)
        #expect(answer[1].failure?.error.code == .notFound)
        #expect(answer[2].failure?.error.frameworkCode == .unknownItem)
        let wrongZone = try await alice.modify(
            [hut(.create, "c", [photo(again)])], in: "Trips", isAtomic: false)[0]
        #expect(wrongZone.failed?.error.frameworkCode == .assetNotAvailable)
        let saved = try await alice.modify([hut(.create, "c", [photo(again)])], in: "Plans")[0]
        try await alice.deleteZone("Trips")
        #expect(try await alice.world.fetch(saved.asset) == [4, 2])
        #expect(try await alice.assetRows([4, 2])?.references == 1)
    }

    @Test func rereferenceRequiresReadPermission() async throws {
        let world = World()
        let alice = try await world.person("alice")
        let bob = try await world.person("bob")
        let asset = try await alice.upload([1])
        try await alice.modify([hut(.create, "a", [photo(asset)])])
        let own = try await bob.ask(
            AssetsRereference.self, .init(assets: [.init(recordName: "a", fieldName: "photo")])
        ).items[0]
        #expect(own.failure?.error.code == .notFound)
        let zoneID = ZoneIDDictionary(zoneName: "_defaultZone", ownerRecordName: alice.name)
        let foreign = await bob.refusal(
            AssetsRereference.self,
            .init(assets: [.init(recordName: "a", fieldName: "photo")], zoneID: zoneID))
        #expect(foreign?.error.code == .zoneNotFound)
    }

    // MARK: Fetching

    @Test func downloadURLExpiresAfterAnHour() async throws {
        let world = World()
        let alice = try await world.person("alice")
        let saved = try await alice.modify([
            hut(.create, "a", [photo(try await alice.upload([1]))])
        ])[0]
        world.advance(seconds: 3599)
        #expect(try await world.fetch(saved.asset) == [1])
        world.advance(seconds: 1)
        await #expect(throws: RequestFailure.self) { try await world.fetch(saved.asset) }
    }
}

// MARK: -

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

extension Person {
    /// After the token of a short session has expired.
    fileprivate func again() async -> Person {
        (try? await world.person("alice")) ?? self
    }

    fileprivate func lateSave(_ asset: AssetReceipt) async -> ServiceError? {
        try? await modify([hut(.create, "late", [photo(asset)])], in: "Trips", isAtomic: false)[0]
            .failed?.error
    }
}

/// A body that comes in these pieces.
func pieces(_ pieces: [UInt8]...) -> AsyncStream<[UInt8]> {
    AsyncStream { continuation in
        for piece in pieces { continuation.yield(piece) }
        continuation.finish()
    }
}

func photo(_ asset: AssetReceipt) -> Field { Field(name: "photo", value: .asset(asset)) }

extension AssetsUpload.TokenResult {
    var token: AssetsUpload.Token? { if case .success(let token) = self { token } else { nil } }
    var failure: AssetFailure? { if case .failure(let failure) = self { failure } else { nil } }
}

extension AssetsRereference.AssetResult {
    var asset: AssetReceipt? { if case .success(let asset) = self { asset } else { nil } }
    var failure: AssetFailure? { if case .failure(let failure) = self { failure } else { nil } }
}

extension RecordResult {
    /// The value of the field `photo`.
    var asset: AssetReceipt? {
        if case .asset(let asset) = values["photo"] { asset } else { nil }
    }
}

extension Person {
    /// The token of a new address for an upload.
    func uploadAddress(
        zoneName: String? = nil, scope: DatabaseScope = .private
    ) async throws -> String {
        let tokens = try await ask(
            AssetsUpload.self,
            .init(tokens: [.init(fieldName: "photo")], zoneID: zoneName.map(zone)), in: scope
        ).items
        return String(try #require(tokens[0].token).url.dropFirst("/assets/put/".count))
    }

    func upload(
        _ bytes: [UInt8], zoneName: String? = nil, scope: DatabaseScope = .private
    ) async throws -> AssetReceipt {
        let half = bytes.count / 2
        return try await world.service.upload(
            to: try await uploadAddress(zoneName: zoneName, scope: scope),
            pieces(Array(bytes[..<half]), Array(bytes[half...]))
        ).singleFile
    }

    private var database: DatabaseAddress { DatabaseAddress(world.address, .private(owner: name)) }

    func assetBytes() async throws -> Int64 {
        try await world.service.storage.store(for: database).read { try $0.assetBytes }
    }

    func blobNames() async throws -> [BlobName] {
        let blobs = try await world.service.storage.blobs(for: database)
        var names: [BlobName] = []
        for byte in UInt8.min ... .max {
            names += try await blobs.blobs(beginningWith: byte).map(\.name)
        }
        return names
    }

    /// The row of the asset with this content.
    func assetRows(_ bytes: [UInt8]) async throws -> AssetRow? {
        for name in try await blobNames() {
            let blobs = try await world.service.storage.blobs(for: database)
            guard let reader = try await blobs.open(name),
                try await reader.read(at: 0, count: bytes.count + 1) == bytes
            else { continue }
            return try await world.service.storage.store(for: database)
                .read { try $0.asset(name.sha256) }
        }
        return nil
    }
}

extension World {
    /// The bytes behind an asset's address.
    func fetch(_ asset: AssetReceipt?) async throws -> [UInt8] {
        let url = try #require(asset?.downloadURL)
        let token = url.split(separator: "/")[2]
        let download = try await service.download(String(token))
        #expect(asset?.sizeBytes == download.sizeBytes)
        return try await download.read(at: 0, count: Int(download.sizeBytes))
    }
}
