import StratusClient
import StratusRecords
import StratusSync
import Testing

@testable import StratusCache

/// Two devices and a cloud.
@Suite(.timeLimit(.minutes(20))) struct TwoDeviceTests {
    @Test func savedRecordsReachOtherDevice() async throws {
        let cloud = RealService()
        let phone = try Device(cloud, settings: .smallBatches)
        let tablet = try Device(cloud)
        for number in 0..<10 { try phone.save("r\(number)", "\(number)") }
        #expect(try phone.texts().count == 10, "works offline")
        try await phone.sync()
        try await tablet.sync()
        #expect(try tablet.texts() == phone.texts())
        #expect(try tablet.texts().count == 10)
        try tablet.delete("r3")
        try tablet.save("r4", "four")
        try await tablet.sync()
        try await phone.sync()
        #expect(try phone.text("r3") == nil)
        #expect(try phone.text("r4") == "four")
        #expect(try await phone.cache.status().pendingCount == 0)
        #expect(try await phone.cache.status().summary == "Done")
    }

    @Test func zonesAndSubscriptionAreCreatedOnce() async throws {
        let cloud = RealService()
        let phone = try await Device.synced(cloud, ["a": "1"])
        try phone.restart()
        try phone.save("b", "1")
        try await phone.sync()
        #expect(phone.link.callNames.filter { $0 == "zones" }.count == 1)
        #expect(phone.link.callNames.filter { $0 == "subscription" }.count == 1)
    }

    @Test func laterOfflineEditWinsInEitherSyncOrder() async throws {
        for phoneIsFirst in [true, false] {
            let cloud = RealService()
            let phone = try Device(cloud, time: TestTime(skewMilliseconds: 5_000))
            let tablet = try Device(cloud, time: TestTime(skewMilliseconds: -5_000))
            try phone.save("a", "start")
            try tablet.save("b", "start")
            try await phone.sync()
            try await tablet.sync()
            try phone.save("a", "earlier")
            cloud.pass()
            try tablet.save("a", "later")
            let order = phoneIsFirst ? [phone, tablet] : [tablet, phone]
            for device in order + order { try await device.sync() }
            #expect(try phone.text("a") == "later")
            #expect(try tablet.text("a") == "later")
            #expect(try await phone.cache.status().pendingCount == 0)
        }
    }

    @Test func customResolverMergesWithAncestor() async throws {
        struct Union: ConflictResolver {
            func resolve(_ conflict: SyncConflict) -> ConflictResolution {
                guard case .string(let mine) = conflict.client["text"],
                    case .string(let theirs) = conflict.server["text"],
                    case .string(let base) = conflict.ancestor?["text"]
                else { return .keepServer }
                var merged = conflict.server
                merged["text"] = .string(
                    "\(base)|\([mine, theirs].sorted().joined(separator: "+"))")
                return .save(fields: merged.fields)
            }
        }
        let cloud = RealService()
        let (phone, tablet) = try await Device.pair(cloud, ["a": "milk"], resolver: Union())
        try phone.save("a", "oat milk")
        try tablet.save("a", "cold milk")
        for device in [phone, tablet, phone] { try await device.sync() }
        #expect(try phone.text("a") == "milk|cold milk+oat milk")
        #expect(try tablet.text("a") == phone.text("a"))
    }

    @Test func overruledEditIsReportedToApp() async throws {
        let cloud = RealService()
        let phone = try Device(cloud)
        let tablet = try Device(cloud)
        try tablet.save("a", "early")
        cloud.pass()
        try phone.save("a", "late")
        try await phone.sync()
        var events = tablet.cache.events().makeAsyncIterator()
        try await tablet.sync()
        guard case .editOverruled(let client, let server, let keys) = await events.next() else {
            Issue.record("the app was not notified")
            return
        }
        #expect(client["text"] == "early")
        #expect(server["text"] == "late")
        #expect(keys == ["text"])
    }

    @Test func locallyDeletedRecordStaysDeletedAfterFetch() async throws {
        let cloud = RealService()
        let (phone, tablet) = try await Device.pair(cloud, ["a": "1"])
        try tablet.save("a", "2")
        try await tablet.sync()
        try phone.delete("a")
        try await phone.sync()
        #expect(try phone.text("a") == nil)
        #expect(try await cloud.record("a") == nil)
        try await tablet.sync()
        #expect(try tablet.text("a") == nil)
    }

    @Test func editOfRemotelyDeletedRecordIsReported() async throws {
        let cloud = RealService()
        let (phone, tablet) = try await Device.pair(cloud, ["a": "1"])
        try phone.delete("a")
        try tablet.save("a", "2")
        try await phone.sync()
        var events = tablet.cache.events().makeAsyncIterator()
        try await tablet.sync()
        guard case .editOfDeletedRecord(let client) = await events.next() else {
            Issue.record("the app was not notified")
            return
        }
        #expect(client["text"] == "2")
        #expect(try tablet.text("a") == nil)
        #expect(try await cloud.record("a") == nil)
    }

    @Test func resolverResurrectsDeletedRecord() async throws {
        let cloud = RealService()
        let phone = try Device(cloud)
        let tablet = try Device(cloud, resolver: KeepsClient())
        try phone.save("a", "1")
        try await phone.sync()
        try await tablet.sync()
        try phone.delete("a")
        try tablet.save("a", "2")
        try await phone.sync()
        try await tablet.sync()
        try await phone.sync()
        #expect(try phone.text("a") == "2")
    }

    @Test func deletedRecordCanBeRecreated() async throws {
        let cloud = RealService()
        let phone = try await Device.synced(cloud, ["a": "1"])
        try phone.delete("a")
        try phone.save("a", "2")
        try await phone.sync()
        #expect(try await cloud.record("a")?["text"] == .string("2"))
        try phone.delete("a")
        try await phone.sync()
        try phone.save("a", "3")
        try await phone.sync()
        #expect(try await cloud.record("a")?["text"] == .string("3"))
        #expect(try phone.text("a") == "3")
    }

    @Test func unknownFieldsOfNewerAppAreKept() async throws {
        let cloud = RealService()
        let phone = try Device(cloud)
        let tablet = try Device(cloud)
        try phone.cache.save([
            LocalEdit(
                id: RecordID(name: "a", zoneID: .list), type: "Item",
                changes: [
                    Field(name: "text", value: .string("1")),
                    Field(name: "fromTheFuture", value: .doubleList([1, 2])),
                ])
        ])
        try await phone.sync()
        try await tablet.sync()
        try tablet.save("a", "2")
        try await tablet.sync()
        #expect(try await cloud.record("a")?["fromTheFuture"] == .doubleList([1, 2]))
    }

    @Test func observersReceiveEachChangedRecordID() async throws {
        let cloud = RealService()
        let phone = try Device(cloud, settings: .smallBatches)
        let tablet = try Device(cloud)
        let changes = tablet.cache.changedIDs()
        for number in 0..<7 { try phone.save("r\(number)", "x") }
        try await phone.sync()
        try await tablet.sync()
        try tablet.cache.close()
        var seen: Set<String> = []
        for await ids in changes { seen.formUnion(ids.map(\.name)) }
        #expect(seen == Set((0..<7).map { "r\($0)" }))
    }
}
