import StratusClient
import StratusRecords
import StratusSync
import Testing

@testable import StratusCache

/// Zones that cannot be made, are gone, or come back by mistake.
@Suite(.timeLimit(.minutes(5))) struct ZoneTroubleTests {
    private let refusedZone = ZoneID(name: "Einkäufe")
    private let refusal = SyncFailure(.invalidArguments, message: "ASCII only")

    @Test func refusedZoneIsSetAsideAndOthersSync() async throws {
        let cloud = MemoryCloud()
        cloud.state.withLock { $0.zoneRefusals[refusedZone] = refusal }
        let phone = try Device(cloud)
        try phone.save("a", "1", zone: refusedZone)
        try phone.save("b", "1")
        var events = phone.cache.events().makeAsyncIterator()
        try await phone.cache.sync()
        #expect(cloud.names() == ["b"])
        guard case .zoneSetAside(let zone, let failure) = await events.next() else {
            Issue.record("the app was not told")
            return
        }
        #expect(ZoneID(zone) == refusedZone)
        #expect(failure == refusal)
        #expect(try phone.text("a", zone: refusedZone) == "1", "nothing is lost")
        #expect(try await phone.cache.attentionItems().map(\.recordID.recordName) == ["a"])
        #expect(try await phone.cache.status().summary == "Attention")

        // It is remembered: neither a restart nor the next sync asks again.
        try phone.restart()
        try phone.save("c", "1")
        try await phone.cache.sync()
        #expect(cloud.names() == ["b", "c"])
        #expect(phone.link.callNames.filter { $0 == "zones" }.count == 1)

        // Asking for another chance is one for the zone too.
        cloud.state.withLock { $0.zoneRefusals = [:] }
        try await phone.cache.retryAttentionItems()
        try await phone.cache.sync()
        #expect(cloud.names(in: refusedZone) == ["a"])
        #expect(try await phone.cache.attentionItems().isEmpty)
    }

    @Test func editInRefusedZoneRetriesWaitingRecords() async throws {
        let cloud = MemoryCloud()
        cloud.state.withLock { $0.zoneRefusals[refusedZone] = refusal }
        let phone = try Device(cloud)
        try phone.save("a", "1", zone: refusedZone)
        try await phone.cache.sync()
        cloud.state.withLock { $0.zoneRefusals = [:] }
        try phone.save("b", "1", zone: refusedZone)
        try await phone.cache.sync()
        #expect(cloud.names(in: refusedZone) == ["a", "b"])
    }

    @Test func refusedZoneDeletionRestoresZone() async throws {
        let cloud = MemoryCloud()
        let phone = try await Device.synced(cloud, ["a": "1"])
        cloud.state.withLock { $0.zoneRefusals[.list] = SyncFailure(.permissionFailure) }
        try await phone.cache.deleteZone(CKRecordZone.ID(.list))
        #expect(try phone.texts().isEmpty)
        try await phone.cache.sync()
        #expect(try phone.texts() == ["a": "1"])
    }

    @Test func zonesBeyondRequestLimitAreCreatedInBatches() async throws {
        let cloud = MemoryCloud()
        cloud.state.withLock { $0.zoneLimit = 7 }
        let phone = try Device(cloud)
        for number in 0..<30 { try phone.save("a", "1", zone: ZoneID(name: "Z\(number)")) }
        try await phone.sync()
        #expect(cloud.state.withLock { $0.zones.count } == 30)
        #expect(try phone.cache.store.pendingIDs(limit: 100).isEmpty)
    }

    @Test func participantCannotCreateSharedZone() async throws {
        let cloud = MemoryCloud()
        cloud.createZone(.list)
        cloud.createZone(.other)
        let guest = try Device(cloud, scope: .shared)
        let early = #expect(throws: CacheError.self) { try guest.save("a", "1") }
        #expect(early?.code == .invalidZone)
        #expect(throws: CacheError.self) { try guest.cache.createZone(CKRecordZone.ID(.list)) }
        try await guest.cache.sync()
        try guest.save("a", "1")
        try await guest.cache.sync()
        #expect(cloud.names() == ["a"])

        // The owner removes the guest while an edit is open.
        cloud.deleteZone(.list)
        try guest.save("a", "2")
        var events = guest.cache.events().makeAsyncIterator()
        try await guest.cache.sync()
        guard case .zoneDeleted(_, _, let lost) = await events.next() else {
            Issue.record("the app was not told")
            return
        }
        #expect(lost.map(\.recordName) == ["a"])
        #expect(throws: CacheError.self) { try guest.save("a", "3") }
        try guest.save("b", "1", zone: .other)
        try await guest.cache.sync()
        #expect(cloud.names(in: .other) == ["b"])
        #expect(!guest.link.callNames.contains("zones"))
    }

    @Test func missingSharedZoneIsRemovedLocally() async throws {
        let cloud = MemoryCloud()
        cloud.createZone(.list)
        var settings = SyncSettings.quick
        settings.zoneDeletionPolicy = .recreate
        let guest = try Device(cloud, settings: settings, scope: .shared)
        try await guest.cache.sync()
        try guest.save("a", "1")
        cloud.loseZone(.list)
        var events = guest.cache.events().makeAsyncIterator()
        try await guest.cache.sync()
        guard case .zoneDeleted = await events.next() else {
            Issue.record("the app was not told")
            return
        }
        #expect(try await guest.cache.zoneIDs(in: .shared).isEmpty)
        #expect(!guest.link.callNames.contains("zones"))
    }

    @Test func lateHintKeepsDeletedZoneDeleted() async throws {
        let cloud = MemoryCloud()
        let phone = try await Device.synced(cloud, ["a": "1"])
        cloud.deleteZone(.list)
        try await phone.cache.sync()
        let calls = phone.link.callNames.count
        await phone.cache.fetchSoon(CKRecordZone.ID(.list))
        await phone.cache.fetchSoon(CKRecordZone.ID(zoneName: "Mistyped"))
        try await phone.cache.sync()
        // Only the database's changes could tell of them.
        #expect(phone.link.callNames.dropFirst(calls) == ["database"])
        #expect(cloud.state.withLock { $0.zones.isEmpty })
        #expect(try await phone.cache.zoneIDs().isEmpty)
    }

    /// Word comes of the zone alone, and of neither its end nor its making.
    @Test func hintOfZoneMadeAgainBringsBackNoRecordOfTheFormer() async throws {
        let cloud = MemoryCloud()
        let phone = try await Device.synced(cloud, ["a": "1"])
        await phone.cache.start()
        try await phone.cache.sync()
        cloud.deleteZone(.list)
        cloud.state.withLock { state in
            state.version += 1
            // As the service answers tokens of the zone that had the name before.
            state.zones[.list] = MemoryCloud.Zone(generation: 7, lastIntactVersion: 0)
            let new = RecordSnapshot(
                id: RecordID(name: "c", zoneID: .list), type: "Item",
                system: .init(changeTag: "1.7"),
                fields: [Field(name: "text", value: .string("1"))])
            state.store(new, "c", .list)
        }
        await phone.cache.fetchSoon(CKRecordZone.ID(.list))
        while try phone.text("c") == nil { await Task.yield() }
        try await phone.sync()
        await phone.cache.stop()
        #expect(cloud.names() == ["c"])
        #expect(try phone.texts() == ["c": "1"])
    }

    @Test func lastDatabasePageDecidesZoneDeletion() async throws {
        let cloud = MemoryCloud()
        let phone = try await Device.synced(cloud, ["a": "1"])
        let token = try phone.cache.store.databaseToken() ?? ""
        phone.link.give([
            DatabasePage(changed: [.list, .other], token: token, moreComing: true),
            DatabasePage(deleted: [(.list, .deleted)], token: token, moreComing: true),
            DatabasePage(deleted: [(.other, .deleted)], token: token),
        ])
        cloud.deleteZone(.list)
        let calls = phone.link.callNames.count
        try await phone.cache.sync()
        #expect(phone.link.callNames.count == calls, "the pages were all that was asked for")
        #expect(cloud.state.withLock { $0.zones.isEmpty })
        #expect(try await phone.cache.zoneIDs().isEmpty)
    }

    @Test func defaultZoneCannotBeDeletedFromCache() async throws {
        let cloud = MemoryCloud()
        cloud.createZone(ZoneID())
        let phone = try Device(cloud)
        let error = #expect(throws: CacheError.self) {
            try phone.cache.deleteZone(CKRecordZone.ID(ZoneID()))
        }
        #expect(error?.code == .invalidZone)
        try await phone.cache.sync()
        #expect(cloud.state.withLock { $0.zones[ZoneID()] != nil })
    }

    @Test func deletionOfUnknownZoneSurvivesRestart() async throws {
        let cloud = MemoryCloud()
        cloud.createZone(.list)
        let phone = try Device(cloud)
        try await phone.cache.deleteZone(CKRecordZone.ID(.list))
        try phone.restart()
        try await phone.cache.sync()
        #expect(cloud.state.withLock { $0.zones.isEmpty })
        #expect(try await phone.cache.zoneIDs().isEmpty)
    }

    @Test func pageInFlightDoesNotRefillDeletedZone() async throws {
        let cloud = MemoryCloud()
        let phone = try Device(cloud)
        let tablet = try Device(cloud)
        for name in ["a", "b", "c", "d", "e"] { try tablet.save(name, "1") }
        try await tablet.cache.sync()
        phone.link.duringNextPage { [phone] in
            try phone.cache.deleteZone(CKRecordZone.ID(.list))
            // The zone is wanted again before its old content is gone.
            try phone.save("new", "1")
        }
        try await phone.cache.sync()
        #expect(try phone.texts() == ["new": "1"])
        #expect(cloud.names() == ["new"])
    }
}
