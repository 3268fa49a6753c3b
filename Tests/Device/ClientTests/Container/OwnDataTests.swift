import Foundation
import StratusClient
import StratusService
import StratusTesting
import TestProcesses
import Testing

/// A person's whole data: exported as one archive, and removed.
@Suite struct OwnDataTests {
    @Test func archiveHoldsEveryRecordAndAsset() async throws {
        let trip = try await Trip()
        let scratch = try Scratch()
        let bytes = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
        let file = scratch.folder.appendingPathComponent("photo")
        try bytes.write(to: file)
        // One record in the default zone, which no change feed contains; two in a zone, with the same picture.
        let note = CKRecord(recordType: "Note", recordID: .init(recordName: "note"))
        let more = (0..<300).map {
            CKRecord(recordType: "Hut", recordID: .init(recordName: "n\($0)", zoneID: trips))
        }
        for record in [note] + more.prefix(2) { record["photo"] = CKAsset(fileURL: file) }
        let database = trip.ida.privateCloudDatabase
        try await database.save(note)
        _ = try await database.modifyRecords(saving: more, deleting: [])
        _ = try await trip.bo.privateCloudDatabase.save(CKRecord(recordType: "Secret"))

        let files = try await archive(of: "ida@example.org", trip.cloud)
        let account = try #require(files["account.json"])
        let profile = try JSONSerialization.jsonObject(with: account) as? [String: Any]
        let user = try await trip.ida.userRecordID().recordName
        #expect(profile?["userRecordName"] as? String == user)
        var names: Set<String> = []
        var pictures: Set<String> = []
        for (path, content) in files where path.hasSuffix(".jsonl") {
            #expect(path.hasPrefix("\(Trip.identifier)/development/zone-000"))
            for line in content.split(separator: UInt8(ascii: "\n")) {
                let record = try #require(
                    try JSONSerialization.jsonObject(with: Data(line)) as? [String: Any])
                names.insert(record["recordName"] as? String ?? "")
                let fields = record["fields"] as? [String: [String: Any]]
                guard let asset = fields?["photo"]?["value"] as? [String: Any] else { continue }
                let folder = path.split(separator: "/").dropLast().joined(separator: "/")
                pictures.insert(folder + "/" + (asset["downloadURL"] as? String ?? ""))
            }
        }
        #expect(
            names.isSuperset(of: ["note", "trail", "hut", "diary"] + (0..<300).map { "n\($0)" }))
        #expect(pictures.count == 2)
        for picture in pictures { #expect(files[picture] == bytes, "\(picture)") }
        #expect(!files.values.contains { $0.range(of: Data("Secret".utf8)) != nil })
    }

    @Test func removeDataDeletesOwnZonesAndLeavesShares() async throws {
        let trip = try await Trip()
        let share = try await trip.shareWithBo()
        try await trip.join(share, trip.bo)
        let own = trip.bo.privateCloudDatabase
        _ = try await own.save(CKRecordZone(zoneName: "Own"))
        let inZone = CKRecord.ID(recordName: "in zone", zoneID: .init(zoneName: "Own"))
        let inDefault = CKRecord.ID(recordName: "in default zone")
        for id in [inZone, inDefault] {
            _ = try await own.save(CKRecord(recordType: "Note", recordID: id))
        }
        #expect(try await trip.bo.sharedCloudDatabase.allRecordZones().count == 1)

        let service = trip.cloud.service
        let user = try await service.accounts.user("bo@example.org")
        try await service.removeData(of: user)
        #expect(try await own.allRecordZones().map(\.zoneID.zoneName) == ["_defaultZone"])
        await #expect(throws: CKError.self) { try await own.record(for: inDefault) }
        #expect(try await trip.bo.sharedCloudDatabase.allRecordZones().isEmpty)
        let files = try await archive(of: "bo@example.org", trip.cloud)
        #expect(!files.values.contains { $0.range(of: Data("Note".utf8)) != nil })
        // Ida's share and records stay, without Bo.
        let left = try #require(
            try await trip.ida.privateCloudDatabase.record(for: share.recordID) as? CKShare)
        #expect(left.participants.count == 1 || left.participants[1].acceptanceStatus != .accepted)
        #expect(
            try await trip.ida.privateCloudDatabase.record(for: trip.trail.recordID)["region"]
                != nil)
        // A second removal succeeds.
        try await service.removeData(of: user)
    }

    /// The files of an archive, read as tar does.
    private func archive(of user: String, _ cloud: TestCloud) async throws -> [String: Data] {
        let pieces = Kept<[UInt8]>()
        try await cloud.service.writeArchive(of: cloud.service.accounts.user(user)) { bytes in
            #expect(bytes.count <= 1_000_000)
            pieces.add(bytes)
        }
        return try tarFiles(pieces.all.flatMap { $0 })
    }
}
