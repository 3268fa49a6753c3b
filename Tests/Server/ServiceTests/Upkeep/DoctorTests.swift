import Foundation
import StratusRecords
import StratusStorage
import StratusTesting
import StratusWire
import Testing

@testable import StratusService

/// The doctor checks the contents of stored records, not only their rows.
@Suite struct StoredContentsTests {
    static let address = DatabaseAddress(
        ContainerAddress(container: "iCloud.org.example.Doctor", environment: .development),
        .private(owner: "_alice"))

    /// A change of a record, and the invariant that it breaks; nil for none.
    struct Case: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var invariant: String?
        var change: @Sendable (inout RecordRow) -> Void
    }

    static let cases = [
        Case(testDescription: "a good record", invariant: nil) { _ in },
        Case(testDescription: "no tag", invariant: "A record has a change tag.") {
            $0.changeTag = ""
        },
        Case(
            testDescription: "an unknown type",
            invariant: "A record's type is in its container's schema."
        ) { $0.type = "Unknown" },
        Case(
            testDescription: "a share that says nothing",
            invariant: "Shares, and no other records, have the data of a share."
        ) {
            $0.type = ShareDictionary.recordType; $0.payload = Array("{}".utf8)
        },
        Case(
            testDescription: "broken sharing",
            invariant: "The sharing data of a record can be read."
        ) { $0.sharing = [9] },
        Case(testDescription: "broken bytes", invariant: "A record's fields can be read.") {
            $0.payload = [1, 2, 3]
        },
        Case(
            testDescription: "a reference that is not found by its target",
            invariant: "A reference with an action is found by its target."
        ) {
            let reference = FieldValue.reference(
                Reference(recordName: "hut-2", action: .deleteSelf))
            $0.payload = RecordFields.values([Field(name: "next", value: reference)]).encoded()
        },
        Case(
            testDescription: "a field of another type",
            invariant: "A field has the type that its schema names."
        ) {
            $0.payload = RecordFields.values([Field(name: "beds", value: .string("many"))])
                .encoded()
        },
    ]

    @Test func doctorReportsRecordWithMissingAsset() async throws {
        let text = StoredAssets.text(
            of: BlobName(sha256: Array(repeating: 1, count: 32), generation: 1))
        let findings = try await examine { writer in
            let zone = try writer.createZone(named: "Trips", hasFeed: true)
            let version = try writer.takeVersions(1, in: zone.key).lowerBound
            let photo = Field(name: "photo", value: .asset(AssetReceipt(receipt: text)))
            try writer.put(
                RecordRow(
                    zone: zone.key, name: "hut", type: "Hut", version: version,
                    commitVersion: version, changeTag: "tag", isDeleted: false,
                    creatorDevice: "phone", createdMilliseconds: 1, modifiedMilliseconds: 1,
                    creator: "_alice", modifier: "_alice", modifierDevice: "phone", parent: nil,
                    shareRoot: nil, payload: RecordFields.values([photo]).encoded()))
        }
        let invariants = findings.map(\.invariant)
        #expect(invariants.contains("A record's assets are in its database."))
        #expect(invariants.contains("An asset that a record holds has its file."))
    }

    @Test func doctorReportsAssetWhoseFileIsTooShort() async throws {
        let storage = SQLiteStorageEngine.inMemory(world: .seeded(7))
        let world = World(storage)
        let alice = try await world.person("alice")
        try await alice.modify([
            hut(.create, "a", [photo(try await alice.upload([1, 2, 3]))])
        ])
        let address = DatabaseAddress(world.address, .private(owner: alice.name))
        let doctor = Doctor(storage: storage)
        #expect(try await doctor.contents(of: address).findings == [])
        let writer = try await storage.blobs(for: address).begin()
        try await writer.write([1])
        let name = try #require(try await alice.blobNames().first)
        try await writer.keep(as: name, atMilliseconds: 0)
        let findings = try await doctor.contents(of: address).findings
        #expect(findings.map(\.invariant) == ["An asset's file has the size of the asset."])
    }

    @Test(arguments: cases) func doctorReportsInvariantBrokenByRecord(_ example: Case) async throws
    {
        let findings = try await examine { writer in
            let zone = try writer.createZone(named: "Trips", hasFeed: true)
            let version = try writer.takeVersions(1, in: zone.key).lowerBound
            var row = RecordRow(
                zone: zone.key, name: "hut", type: "Hut", version: version, commitVersion: version,
                changeTag: "tag", isDeleted: false, creatorDevice: "phone",
                createdMilliseconds: 1, modifiedMilliseconds: 1, creator: "_alice",
                modifier: "_alice", modifierDevice: "phone", parent: nil, shareRoot: nil,
                payload: RecordFields.values([Field(name: "beds", value: .int64(24))]).encoded())
            example.change(&row)
            try writer.put(row)
        }
        #expect(findings.map(\.invariant) == [example.invariant].compactMap { $0 })
    }

    @Test func doctorReportsUnreadableSubscriptionsAndOutboxEvents() async throws {
        let findings = try await examine { writer in
            try writer.put(SubscriptionRow(user: "_alice", identifier: "s", body: [1]))
            try writer.enqueue([9])
        }
        #expect(
            findings.map(\.invariant) == [
                "A subscription can be read.", "An event of the outbox can be read.",
            ])
    }

    private func examine(
        _ body: @escaping @Sendable (any RecordTransaction) throws -> Void
    ) async throws -> [Finding] {
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("stratus-\(UUID().uuidString)").path
        defer {
            // Failing to remove a temporary folder must not fail the test.
            try? FileManager.default.removeItem(atPath: folder)
        }
        let storage = try SQLiteStorageEngine(folder: folder)
        try await storage.directory.createContainer(Self.address.containerAddress)
        _ = try await storage.directory.extendSchema(
            of: Self.address.containerAddress,
            with: [
                SchemaFieldRow(recordType: "Hut", field: "beds", type: .int64),
                SchemaFieldRow(recordType: "Hut", field: "next", type: .reference),
            ])
        try await storage.store(for: Self.address).writeRecords(body)
        let findings = try await Doctor(storage: storage).examine().findings
        try await storage.close()
        return findings
    }
}
