import Foundation
import StratusClient
import StratusRecords
import StratusSync
import Testing

@testable import StratusCache

/// Reports of lost, overruled and refused changes stay on disk until the app acknowledges them.
@Suite struct ReportTests {
    /// A device whose edit of "a" was overruled by another device's edit.
    private func overruled() async throws -> (phone: Device, tablet: Device, cloud: RealService) {
        let cloud = RealService()
        let resolver = ServiceWins()
        let (phone, tablet) = try await Device.pair(cloud, ["a": "first"], resolver: resolver)
        try tablet.save("a", "theirs")
        try await tablet.sync()
        try phone.save("a", "mine")
        try await phone.sync()
        return (phone, tablet, cloud)
    }

    private func texts(_ report: CacheReport?) -> [String?] {
        guard case .editOverruled(let client, let server, ["text"]) = report?.event else {
            return []
        }
        return [client["text"], server["text"]]
    }

    @Test func overruledEditIsReportedUntilAcknowledged() async throws {
        let (phone, _, cloud) = try await overruled()
        #expect(try await phone.cache.status().reportCount == 1)
        // The process ended before the app read the report.
        try phone.restart()
        let reports = try await phone.cache.reports()
        #expect(reports.map(\.scope) == [.private])
        #expect(texts(reports.first) == ["mine", "theirs"])
        #expect(reports.first?.date == cloud.time.world.now)
        var stream = phone.cache.reportStream().makeAsyncIterator()
        #expect(texts(try await stream.next()) == ["mine", "theirs"])
        try await phone.cache.acknowledge(reports)
        #expect(try await phone.cache.reports().isEmpty)
        try phone.restart()
        #expect(try await phone.cache.reports().isEmpty)
        #expect(try await stream.next() == nil, "The cache of the stream was closed.")
    }

    @Test func streamContinuesWithNewReports() async throws {
        let (phone, tablet, _) = try await overruled()
        var stream = phone.cache.reportStream().makeAsyncIterator()
        let first = try #require(try await stream.next())
        try await tablet.sync()
        try tablet.save("a", "theirs again")
        try await tablet.sync()
        try phone.save("a", "mine again")
        async let second = next(&stream)
        try await phone.sync()
        #expect(texts(try await second) == ["mine again", "theirs again"])
        #expect(try await phone.cache.reports().count == 2)
        try await phone.cache.acknowledge([first])
        #expect(try await phone.cache.reports().count == 1)
    }

    private func next(_ stream: inout CacheReports.Iterator) async throws -> CacheReport? {
        try await stream.next()
    }

    /// There are more reports than an observer keeps in memory.
    @Test func streamDeliversMoreReportsThanAnObserverKeeps() async throws {
        let phone = try Device(RealService())
        let count = Observers.eventsPerObserver + 200
        _ = try phone.cache.store.write { _, outcome in
            for number in 0..<count {
                let record = RecordSnapshot(
                    id: RecordID(name: "r\(number)", zoneID: .list), type: "Item")
                outcome.events.append(.editOfDeletedRecord(client: try record.record()))
            }
        }
        var seen: [String] = []
        for try await report in phone.cache.reportStream() {
            if case .editOfDeletedRecord(let client) = report.event {
                seen.append(client.recordID.recordName)
            }
            if seen.count == count { break }
        }
        #expect(seen == (0..<count).map { "r\($0)" })
    }

    /// A repeated refusal replaces the former report.
    @Test func repeatedRefusalReplacesItsReport() async throws {
        let cloud = RealService()
        let phone = try Device(cloud)
        cloud.refuse("a", SyncFailure(.invalidArguments, message: "No."))
        try phone.save("a", "1")
        try await phone.sync()
        cloud.refuse("a", SyncFailure(.invalidArguments, message: "Never."))
        try phone.save("a", "2")
        try await phone.sync()
        let reports = try await phone.cache.reports()
        guard reports.count == 1, case .setAside(let item) = reports[0].event else {
            Issue.record("\(reports)")
            return
        }
        #expect(item == (try await phone.cache.attentionItems().first))
        #expect(item.failure.message == "Never.")
    }

    @Test func everyKindOfReportReadsBack() throws {
        let phone = try Device(RealService())
        let zone = CKRecordZone.ID(zoneName: "Trips", ownerName: "_bob")
        let record = RecordSnapshot(
            id: RecordID(name: "a", zoneID: ZoneID(zone)), type: "Item",
            system: .init(changeTag: "7", modifiedMilliseconds: 5), parentRecordName: "root",
            fields: [Field(name: "text", value: .string("x"))])
        var new = record
        new.system = nil
        let failure = SyncFailure(.permissionFailure, message: "Not you.")
        _ = try phone.cache.store.write { _, outcome in
            outcome.events = [
                .zoneDeleted(
                    zone, reason: .encryptedDataReset, lostChanges: [CKRecord.ID(record.id)]),
                .zoneSetAside(zone, failure),
                .recordsMissing([try new.record(changedSince: nil)]),
                .editOverruled(
                    client: try record.record(), server: try record.record(), keys: ["text"]),
                .editOfDeletedRecord(client: try record.record()),
                .changesLost(
                    zone, sentAgain: [CKRecord.ID(record.id)],
                    deletedAgain: [CKRecord.ID(recordName: "b", zoneID: zone)]),
                .quotaExceeded(failure), .halted(.otherAccount), .storageFull,
            ]
        }
        let events = try phone.cache.reports().map(\.event)
        #expect(events.count == 6, "States are no reports.")
        guard case .zoneDeleted(zone, .encryptedDataReset, let lost) = events[0],
            case .zoneSetAside(zone, failure) = events[1],
            case .recordsMissing(let missing) = events[2],
            case .editOverruled(let client, let server, ["text"]) = events[3],
            case .editOfDeletedRecord(let edited) = events[4],
            case .changesLost(zone, let sentAgain, let deletedAgain) = events[5]
        else {
            Issue.record("\(events)")
            return
        }
        #expect(lost == [CKRecord.ID(record.id)])
        #expect(sentAgain == lost && deletedAgain.map(\.recordName) == ["b"])
        #expect(missing.map(\.recordChangeTag) == [nil] && missing.first?["text"] == "x")
        for copy in [client, server, edited] {
            #expect(copy.recordChangeTag == "7" && copy["text"] == "x")
            #expect(copy.parent?.recordID.recordName == "root")
        }
    }
}

/// Always keeps the service's record.
struct ServiceWins: ConflictResolver {
    func resolve(_ conflict: SyncConflict) -> ConflictResolution { .keepServer }
}
