import StratusTesting
import StratusWire
import Testing

@testable import StratusClient

/// Completed work is reported as a success, even if something else fails afterwards.
@Suite struct OutcomeTests {
    @Test func saveSucceedsWhenKeyringLookupFails() async throws {
        let cloud = TestCloud()
        let phone = try await cloud.container(Trip.identifier, user: "ida", device: "phone")
            .privateCloudDatabase
        try await phone.save(CKRecordZone(zoneID: trips))
        let theirs = hut("a")
        theirs.encryptedValues["diary"] = "We met a marmot."
        try await phone.save(theirs)

        let transport = TappedTransport(
            try await cloud.connect(user: "ida", device: "tablet").transport)
        let tablet = CKContainer(
            identifier: Trip.identifier,
            connection: CloudConnection(
                transport: transport, hasAccount: true, deviceID: "tablet",
                keyStore: cloud.keyStore)
        ).privateCloudDatabase
        transport.tap {
            $0.request = { request in
                // The lookup of the keyring.
                guard request is RecordsLookup.Request else { return }
                throw TransportError(.answerLost, "Cut off.")
            }
        }
        let good = hut("b")
        let outcome = try await tablet.modifyRecords(
            saving: [hut("a"), good], deleting: [], atomically: false)
        #expect(try outcome.saveResults[good.recordID]?.get().recordChangeTag != nil)
        let conflict = outcome.saveResults[theirs.recordID]?.failure as? CKError
        #expect(conflict?.code == .serverRecordChanged)
        #expect(conflict?.serverRecord?.recordChangeTag == theirs.recordChangeTag)
    }

    @Test func acceptSharesReportsResultPerContainer() async throws {
        let cloud = TestCloud()
        let identifiers = ["iCloud.org.example.Trails", "iCloud.org.example.Huts"]
        let bo = try await cloud.connect(user: "bo", device: "bo's")
        var metadatas: [CKShare.Metadata] = []
        for identifier in identifiers {
            let ida = try await cloud.container(identifier, user: "ida", device: "ida's")
                .privateCloudDatabase
            try await ida.save(CKRecordZone(zoneID: trips))
            let root = hut("root")
            let share = CKShare(rootRecord: root)
            share.publicPermission = .readOnly
            let saved = try await ida.modifyRecords(saving: [root, share], deleting: [])
            _ = try saved.saveResults[share.recordID]?.get()
            metadatas.append(
                try await CKContainer(identifier: identifier, connection: bo)
                    .shareMetadata(for: try #require(share.url)))
        }
        let container = CKContainer(identifier: identifiers[0], connection: bo)
        for refused in identifiers {
            cloud.faults.next(
                of: RecordsAccept.self, container: refused, .answer(.tryAgainLater))
            let results = try await container.accept(metadatas)
            for metadata in metadatas {
                let error = results[metadata]?.failure as? CKError
                let isRefused = metadata.containerIdentifier == refused
                #expect(error?.code == (isRefused ? .serviceUnavailable : nil))
            }
        }
        // When no container answers, the whole request fails.
        cloud.faults.nextRequests(2, .answer(.tryAgainLater))
        await #expect(throws: CKError(.serviceUnavailable)) {
            try await container.accept(metadatas)
        }
    }
}
