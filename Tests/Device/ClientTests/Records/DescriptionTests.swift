import Foundation
import StratusClient
import Testing

/// What print shows of records, shares, errors and predicates.
@Suite struct DescriptionTests {
    @Test func recordShowsIdentityAndValues() async throws {
        let trip = try await Trip()
        let record = trip.hutBelow
        record["name"] = "Gipfel"
        record["tags"] = (1...9).map { "tag \($0)" }
        record["blob"] = Data([1, 2, 3])
        record["long"] = String(repeating: "x", count: 100)
        record["at"] = Date(timeIntervalSince1970: 0)
        record["next"] = CKRecord.Reference(record: trip.trail, action: .none)
        record.encryptedValues["diary"] = "We met a marmot."
        let text = "\(record)"
        for part in [
            "recordType=Hut", "recordID=hut:(Trips:__defaultOwner__)", "parent=trail",
            "recordChangeTag=\(record.recordChangeTag ?? "")", "beds = 4", "name* = \"Gipfel\"",
            "blob* = 3 bytes", "(100 characters)", "\"tag 5\", … (9)]", "at* = 1970-01-01",
            "next* = → trail", "diary* = (encrypted)",
        ] {
            #expect(text.contains(part), "\(text)")
        }
        #expect(!text.contains("marmot"))
    }

    @Test func shareShowsLinkAndParticipants() async throws {
        let trip = try await Trip()
        let share = try await trip.shareWithBo(.readOnly)
        let text = "\(share)"
        let link = try #require(share.url?.absoluteString)
        for part in [
            "<CKShare:", "url=\(link.prefix { $0 != "#" }),", "publicPermission=none",
            "bo@example.org privateUser readOnly pending", "cloudkit.title = \"Sunday's trail\"",
        ] {
            #expect(text.contains(part), "\(text)")
        }
        // The link's key is for participants, not for logs.
        #expect(!text.contains("~"))
    }

    @Test func errorShowsItsItems() async throws {
        let database = try await Trip().ida.privateCloudDatabase
        let records = (1...7).map { number -> CKRecord in
            let record = hut("bad-\(number)")
            record["_name"] = number
            return record
        }
        let results = try await database.modifyRecords(
            saving: records, deleting: [], atomically: false
        ).saveResults
        var errors: [AnyHashable: any Error] = [:]
        for (recordID, result) in results { errors[recordID] = result.failure }
        let text = "\(try #require(CKError.partialFailure(errors)))"
        for part in [
            "<CKError partialFailure (2): Some items failed", "bad-1", "permissionFailure (10)",
            "and 2 more",
        ] {
            #expect(text.contains(part), "\(text)")
        }
        let limited = CKError(.zoneBusy, userInfo: [CKErrorRetryAfterKey: 3.5])
        #expect("\(limited)".contains("retry after 3.5 s"))
    }

    @Test(arguments: [
        ("beds > 3 AND name == 'x'", "beds > 3 AND name == \"x\""),
        ("NOT (beds IN {1, 2})", "NOT beds IN {1, 2}"),
        ("(a == 1 OR b == 2) AND c == nil", "(a == 1 OR b == 2) AND c == nil"),
        ("ANY tags BEGINSWITH 'x'", "ANY tags BEGINSWITH \"x\""),
        ("TRUEPREDICATE", "TRUEPREDICATE"),
        ("self CONTAINS 'x'", "SELF CONTAINS \"x\""),
    ])
    func predicateShowsItsFormat(_ format: String, _ text: String) {
        #expect("\(NSPredicate(format: format, argumentArray: nil))" == text)
        #expect(NSPredicate(format: "beds == %d", 4).description == "beds == 4")
    }
}
