import Foundation
import StratusRecords
import StratusTesting
import StratusWire
import Synchronization
import Testing

@testable import StratusClient

/// A clock that stands still until a test moves it.
final class StandingClock: Sendable {
    private let seconds = Mutex(1_000.0)
    var now: Double { seconds.withLock { $0 } }
    func pass(_ more: Double) { seconds.withLock { $0 += more } }
}

/// A device with its own key store, and its traffic.
struct EncryptionDevice {
    var container: CKContainer
    var transport: TappedTransport
    var own: CKDatabase { container.privateCloudDatabase }
    var shared: CKDatabase { container.sharedCloudDatabase }

    func join(_ link: URL) async throws -> CKShare {
        try await container.accept(try await container.shareMetadata(for: link))
    }
}

/// Devices in one cloud, for suites of encrypted values.
protocol EncryptionFixture {
    var cloud: TestCloud { get }
    var uptimeSeconds: StandingClock { get }
}

extension EncryptionFixture {
    func device(
        _ user: String, keyStore: any CloudKeyStore = MemoryKeyStore()
    ) async throws -> EncryptionDevice {
        let link = try await cloud.connect(user: user, device: user)
        let transport = TappedTransport(link.transport)
        let time = uptimeSeconds
        let connection = CloudConnection(
            transport: transport, hasAccount: true, deviceID: user,
            world: CloudConnection.World(uptimeSeconds: { time.now }), keyStore: keyStore)
        return EncryptionDevice(
            container: CKContainer(identifier: Trip.identifier, connection: connection),
            transport: transport)
    }

    /// Makes a zone with encrypted values that anyone with its link may write.
    func share(
        by owner: EncryptionDevice, _ text: String = "We met a marmot.", count: Int = 1
    ) async throws -> URL {
        try await owner.own.save(CKRecordZone(zoneID: trips))
        let share = CKShare(recordZoneID: trips)
        share.publicPermission = .readWrite
        try await owner.own.save(share)
        _ = try await owner.own.modifyRecords(
            saving: (0..<count).map { diary("diary-\($0)", text) }, deleting: [])
        return try #require(share.url)
    }

    func diary(_ name: String, _ text: String) -> CKRecord {
        let record = hut(name)
        record.encryptedValues["diary"] = text
        return record
    }

    /// Expects that a guest reads what the owner of the zone wrote, and the owner what the guest writes.
    func expectTrust(_ guest: EncryptionDevice, _ owner: EncryptionDevice) async throws {
        let zoneID = CKRecordZone.ID(
            zoneName: "Trips", ownerName: try await owner.container.userRecordID().recordName)
        let name = UUID().uuidString
        try await owner.own.save(diary(name, "We met a marmot."))
        let recordID = CKRecord.ID(recordName: name, zoneID: zoneID)
        let record = try await guest.shared.record(for: recordID)
        #expect(record.encryptedValues["diary"] == "We met a marmot.")
        record.encryptedValues["diary"] = "I saw it too."
        try await guest.shared.save(record)
        let seen = try await owner.own.record(for: hut(name).recordID)
        #expect(seen.encryptedValues["diary"] == "I saw it too.")
    }
}

@Sendable func isKeyringLookup(_ request: any Sendable) -> Bool {
    (request as? RecordsLookup.Request)?.records.first?.recordName == CloudKeyring.recordName
}
