import StratusClient
import StratusRecords
import StratusService
import StratusSync
import StratusTesting
import StratusWire

@testable import StratusCache

/// A plain client without a cache that reads and edits the service's records.
extension RealService {
    func database(of user: String = "alice") async throws -> CKDatabase {
        try await container(of: user).privateCloudDatabase.withoutAssetDownloads
    }

    private func container(of user: String) async throws -> CKContainer {
        let service = current.service
        let session = try await service.signInForDevelopment(user: user)
        return CKContainer(
            identifier: Self.container,
            connection: CloudConnection(
                transport: InProcessTransport(
                    service: service, webAuthToken: session.webAuthToken, device: "plain client"),
                environment: environment, hasAccount: true, deviceID: "plain client",
                keyStore: keyStore))
    }

    func userRecordName(of user: String = "alice") async throws -> String {
        try await current.service.signInForDevelopment(user: user).userRecordName
    }

    func record(
        _ name: String, in zone: ZoneID = .list, of user: String = "alice"
    ) async throws -> RecordSnapshot? {
        let id = CKRecord.ID(RecordID(name: name, zoneID: zone))
        do {
            return try RecordSnapshot(try await database(of: user).record(for: id))
        } catch let error as CKError where [.unknownItem, .zoneNotFound].contains(error.code) {
            // A missing record is a result.
            return nil
        }
    }

    /// The names of all records of a zone, in order.
    func names(in zone: ZoneID = .list, of user: String = "alice") async throws -> [String] {
        try await records([], in: zone, of: user).keys.filter { $0 != Self.shareName }.sorted()
    }

    /// The name of the share of a whole zone.
    private static let shareName = CKRecordNameZoneWideShare

    /// The texts of all records of a zone by their names.
    func texts(in zone: ZoneID = .list) async throws -> [String: String] {
        try await records(["text"], in: zone).compactMapValues { $0["text"] as String? }
    }

    /// All records of a zone by their names.
    ///
    /// - Parameter keys: The fields to fetch.
    func records(
        _ keys: [CKRecord.FieldKey], in zone: ZoneID = .list, of user: String = "alice"
    ) async throws -> [String: CKRecord] {
        let database = try await database(of: user)
        var records: [String: CKRecord] = [:]
        var token: CKServerChangeToken?
        var isLast = false
        do {
            while !isLast {
                let page = try await database.recordZoneChanges(
                    inZoneWith: CKRecordZone.ID(zone), since: token, desiredKeys: keys,
                    resultsLimit: 1_000)
                for (id, result) in page.modificationResultsByID {
                    records[id.recordName] = try result.get().record
                }
                for deletion in page.deletions { records[deletion.recordID.recordName] = nil }
                token = page.changeToken
                isLast = !page.moreComing
            }
        } catch let error as CKError where error.code == .zoneNotFound {
            // A missing zone is a result.
            return [:]
        }
        return records
    }

    /// All zones except the default one.
    func zones(of user: String = "alice") async throws -> [ZoneID] {
        try await database(of: user).allRecordZones().map { ZoneID($0.zoneID) }
            .filter { $0.name != ZoneID.defaultZoneName }
    }

    func createZone(_ zone: ZoneID, of user: String = "alice") async throws {
        _ = try await database(of: user).save(CKRecordZone(zoneID: CKRecordZone.ID(zone)))
    }

    func deleteZone(_ zone: ZoneID, of user: String = "alice") async throws {
        _ = try await database(of: user).deleteRecordZone(withID: CKRecordZone.ID(zone))
    }

    /// The person removes the app's data.
    func purgeZone(_ zone: ZoneID) async throws {
        try current.service.faults?.add([Fault(.resetZone(.purged), zoneName: zone.name)])
        // The fault takes effect before the next request, which is this one.
        _ = try await zones()
    }

    /// Saves a text, whatever record the service has.
    func save(
        _ name: String, _ text: String, in zone: ZoneID = .list, of user: String = "alice"
    ) async throws {
        let record = CKRecord(
            recordType: "Item", recordID: CKRecord.ID(RecordID(name: name, zoneID: zone)))
        record["text"] = text
        pass()
        let results = try await database(of: user).modifyRecords(
            saving: [record], deleting: [], savePolicy: .allKeys)
        for result in results.saveResults.values { _ = try result.get() }
    }

    func delete(_ name: String, in zone: ZoneID = .list, of user: String = "alice") async throws {
        pass()
        _ = try await database(of: user).deleteRecord(
            withID: CKRecord.ID(RecordID(name: name, zoneID: zone)))
    }

    /// Shares a zone of one user, which the others may edit.
    ///
    /// - Returns: The zone's ID for the others.
    func share(
        _ zone: ZoneID, of owner: String, with guests: String...
    ) async throws -> ZoneID {
        let database = try await database(of: owner)
        try await createZone(zone, of: owner)
        let share = CKShare(recordZoneID: CKRecordZone.ID(zone))
        share.publicPermission = .readWrite
        guard let saved = try await database.save(share) as? CKShare, let url = saved.url else {
            throw SyncFailure(.internalError, message: "The share has no address.")
        }
        for guest in guests {
            let container = try await container(of: guest)
            let metadata = try await container.shareMetadata(for: url)
            _ = try await container.accept(metadata)
        }
        return ZoneID(name: zone.name, ownerName: try await userRecordName(of: owner))
    }
}
