import Foundation
import StratusRecords
import StratusService
import StratusStorage
import StratusTesting
import StratusWire
import Testing

/// Saving, fetching and attaching assets again.
@Suite struct ServiceAssetTests {
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

    /// The client library sends all fields when it saves with the policy "all keys".
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

    /// A device with an old copy of the record gets a conflict, not an error about its old asset.
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
        // A receipt is valid for a day.
        let late = try await alice.upload([5], zoneName: "Trips")
        world.advance(seconds: 24 * 3600)
        let afterADay = try await alice.again().lateSave(late)
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

    /// Text that looks like a receipt is stored unchanged.
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

extension Person {
    /// The same user with a new session, after the token of a short one has expired.
    fileprivate func again() async throws -> Person {
        try await world.person("alice")
    }

    fileprivate func lateSave(_ asset: AssetReceipt) async throws -> ServiceError? {
        try await modify([hut(.create, "late", [photo(asset)])], in: "Trips", isAtomic: false)[0]
            .failed?.error
    }
}
