import Foundation
import StratusClient
import StratusRecords
import StratusTesting
import Testing

@testable import StratusCache

/// Shares that a restore of the service from an older copy loses.
@Suite struct LostShareTests {
    private let folder: RestoredFolder
    private let root = CKRecord.ID(recordName: "root", zoneID: .list)
    private static let bo = "bo@example.org"

    init() throws { folder = try RestoredFolder() }

    /// Shares the root record or its zone with Bo, under a title, and fetches the share.
    private func share(_ isZoneWide: Bool, in cache: CloudCache) async throws {
        let share =
            try await isZoneWide
            ? cache.shareZone(CKRecordZone.ID.list) : cache.share(root)
        try await cache.changeShare(share.recordID) { share in
            share[CKShare.SystemFieldKey.title] = "Our list"
        }
        try await cache.invite(
            emailAddresses: [Self.bo], to: share.recordID, permission: .readWrite)
    }

    private func lostShares(_ cache: CloudCache) async throws -> [CKShare] {
        try await cache.reports().flatMap { report -> [CKShare] in
            if case .recordsMissing = report.event { Issue.record("\(report)") }
            guard case .sharesLost(let shares) = report.event else { return [] }
            return shares
        }
    }

    /// - Parameter lost: What was created after the copy: the zone, the share, or the invitation.
    @Test(
        arguments: [false, true],
        ["zone", "share", "share, title edited", "invitation", "invitation, title edited"])
    func lostShareIsReportedAndSharedAgain(isZoneWide: Bool, lost: String) async throws {
        let hasPendingTitle = lost.hasSuffix("edited")
        let lost = lost.prefix { $0 != "," }
        try await folder.run("tablet", user: Self.bo) { try await $0.sync() }
        try await folder.sync("phone")
        if lost != "zone" { try await folder.save("root", on: "phone", isFetched: true) }
        if lost == "invitation" {
            try await folder.run("phone") { phone in
                try await phone.sync()
                _ =
                    try await isZoneWide
                    ? phone.shareZone(CKRecordZone.ID.list) : phone.share(root)
            }
        }
        try folder.takeCopy()
        if lost == "zone" { try await folder.save("root", on: "phone", isFetched: true) }
        try await folder.run("phone") { phone in
            try await share(isZoneWide, in: phone)
            await phone.fetchSoon(CKRecordZone.ID.list)
            try await phone.sync()
            guard hasPendingTitle else { return }
            let shares = try await phone.records(
                ofType: CKRecord.SystemType.share, inZoneWith: CKRecordZone.ID.list)
            let share = try #require(shares.first)
            share[CKShare.SystemFieldKey.title] = "Our list"
            share["note"] = "unsent"
            try await phone.save(share)
        }
        try folder.restore()
        try await folder.run("phone") { phone in
            try await phone.sync()
            #expect(try phone.texts() == ["root": "1"])
            #expect(try await phone.attentionItems().isEmpty)
            let kept = try await phone.records(
                ofType: CKRecord.SystemType.share, inZoneWith: CKRecordZone.ID.list)
            #expect(kept.count == (lost == "invitation" ? 1 : 0))
            #expect(try await phone.status().pendingCount == 0)
            let shares = try await lostShares(phone)
            #expect(shares.map(\.participants.count) == [2])
            for share in shares {
                for _ in 0..<2 {
                    let again = try await phone.shareAgain(share)
                    let isOfZone = again.recordID.recordName == CKRecordNameZoneWideShare
                    #expect(isOfZone == isZoneWide)
                    #expect(again[CKShare.SystemFieldKey.title] == "Our list")
                    #expect(again.participants.map(\.permission) == [.readWrite, .readWrite])
                }
            }
        }
        var url: URL?
        try await folder.run("phone") { phone in
            try await phone.sync()
            let shares = try await phone.records(
                ofType: CKRecord.SystemType.share, inZoneWith: CKRecordZone.ID.list)
            #expect(shares.count == 1)
            url = (shares.first as? CKShare)?.url
        }
        try await folder.run("tablet", user: Self.bo) { tablet in
            let zone = try await tablet.acceptShare(at: try #require(url))
            let id = CKRecord.ID(recordName: "root", zoneID: zone)
            #expect(try await tablet.record(for: id, in: .shared)?["text"] == "1")
        }
    }

    /// A share that another device ended was not lost.
    @Test func shareThatWasEndedElsewhereIsNotReported() async throws {
        try await folder.run("tablet", user: Self.bo) { try await $0.sync() }
        try await folder.save("root", on: "phone", isFetched: true)
        try await folder.run("phone") { try await share(false, in: $0) }
        try await folder.run("laptop") { laptop in
            try await laptop.sync()
            let shares = try await laptop.records(
                ofType: CKRecord.SystemType.share, inZoneWith: CKRecordZone.ID.list)
            try await laptop.stopSharing(try #require(shares.first?.recordID))
            try await laptop.sync()
        }
        try await folder.run("phone") { phone in
            try await phone.sync()
            #expect(try await phone.reports().isEmpty)
            #expect(try phone.texts() == ["root": "1"])
        }
    }
}
