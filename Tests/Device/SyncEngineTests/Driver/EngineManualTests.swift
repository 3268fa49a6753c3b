import Foundation
import StratusClient
import StratusRecords
import StratusSync
import StratusSyncEngine
import StratusTesting
import StratusWire
import Synchronization
import Testing

/// Engines with manual syncs: the order of events, and which changes are pending at each point.
@Suite struct EngineManualTests {
    @Test func firstSendReportsEventsInOrder() async throws {
        let world = EngineWorld()
        let phone = try await world.app("phone")
        phone.makeZone()
        phone.write("a", "1")
        phone.write("b", "2")
        #expect(phone.log.isEmpty)
        try await phone.engine.sendChanges()
        #expect(
            phone.takeLog() == [
                "signIn", "willSend manual", "sentZones +Huts", "sent +a +b", "didSend manual",
            ])
        #expect(phone.engine.state.pendingRecordZoneChanges.isEmpty)
        #expect(phone.engine.state.pendingDatabaseChanges.isEmpty)

        let tablet = try await world.app("tablet")
        try await tablet.engine.fetchChanges()
        #expect(
            tablet.takeLog() == [
                "signIn", "willFetch manual", "zones +Huts", "willFetch Huts", "fetched +a +b",
                "didFetch Huts", "didFetch manual",
            ])
        #expect(tablet.texts == ["a": "1", "b": "2"])
    }

    @Test func idleSendReportsNoEvents() async throws {
        let (phone, _) = try await EngineWorld().pair()
        try await phone.engine.sendChanges()
        #expect(phone.takeLog() == [])
        try await phone.engine.fetchChanges()
        #expect(phone.takeLog() == ["willFetch manual", "didFetch manual"])
    }

    @Test func changesAndDeletionsReachOtherDevice() async throws {
        let (phone, tablet) = try await EngineWorld().pair()
        phone.write("b", "2")
        phone.erase("a")
        try await phone.engine.sendChanges()
        #expect(phone.takeLog() == ["willSend manual", "sent +b -a", "didSend manual"])
        try await tablet.engine.fetchChanges()
        #expect(tablet.texts == ["b": "2"])
    }

    @Test func pendingListKeepsLatestChangePerRecord() async throws {
        let state = try await EngineWorld().app("phone").engine.state
        typealias Change = CKSyncEngine.PendingRecordZoneChange
        state.add(pendingRecordZoneChanges: [.saveRecord(hut("a")), .saveRecord(hut("b"))])
        state.add(pendingRecordZoneChanges: [.saveRecord(hut("a"))])
        #expect(
            state.pendingRecordZoneChanges == [
                Change.saveRecord(hut("a")), .saveRecord(hut("b")),
            ])
        state.add(pendingRecordZoneChanges: [.deleteRecord(hut("a"))])
        #expect(
            state.pendingRecordZoneChanges == [
                Change.saveRecord(hut("b")), .deleteRecord(hut("a")),
            ])
        state.remove(pendingRecordZoneChanges: [.saveRecord(hut("a"))])
        #expect(state.pendingRecordZoneChanges.count == 2)
        state.remove(pendingRecordZoneChanges: [.deleteRecord(hut("a")), .saveRecord(hut("b"))])
        #expect(state.pendingRecordZoneChanges.isEmpty)
        let zone = CKRecordZone(zoneID: hutsID)
        state.add(pendingDatabaseChanges: [.deleteZone(hutsID)])
        state.add(pendingDatabaseChanges: [.saveZone(zone), .saveZone(.default())])
        #expect(state.pendingDatabaseChanges == [.saveZone(zone)])
        state.remove(pendingDatabaseChanges: [.deleteZone(hutsID)])
        #expect(state.pendingDatabaseChanges.count == 1)
        state.remove(pendingDatabaseChanges: [.saveZone(zone)])
        #expect(state.pendingDatabaseChanges.isEmpty)
    }

    @Test func inFlightChangeIsNotPending() async throws {
        let (phone, _) = try await EngineWorld().pair()
        phone.write("a", "2")
        let seen = Mutex<[Int]>([])
        phone.whenEvent { event, engine in
            guard case .sentRecordZoneChanges = event else { return }
            seen.withLock { $0.append(engine.state.pendingRecordZoneChanges.count) }
        }
        try await phone.engine.sendChanges()
        #expect(seen.withLock { $0 } == [0])
    }

    /// An event prints its name and its counts, without the name of the enumeration.
    @Test func eventPrintsItsNameAndFigures() async throws {
        let (phone, _) = try await EngineWorld().pair()
        phone.write("a", "2")
        let texts = Mutex<[String]>([])
        phone.whenEvent { event, _ in texts.withLock { $0.append("\(event)") } }
        try await phone.engine.sendChanges()
        let printed = texts.withLock { $0 }
        #expect(printed.contains("<SentRecordZoneChanges: 1 saved, 0 deleted, failed []>"))
        #expect(printed.allSatisfy { $0.hasPrefix("<") && $0.hasSuffix(">") })
    }

    @Test func sendRespectsScope() async throws {
        let world = EngineWorld()
        let phone = try await world.app("phone")
        let other = CKRecordZone.ID(zoneName: "Trails")
        phone.makeZone()
        phone.engine.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: other))])
        phone.write("a", "1")
        phone.write("b", "1")
        try await phone.engine.sendChanges(.init(scope: .recordIDs([hut("b")])))
        #expect(
            phone.takeLog() == [
                "signIn", "willSend manual", "sentZones +Huts", "sent +b", "didSend manual",
            ])
        try await phone.engine.sendChanges(.init(scope: .allExcluding([hutsID])))
        #expect(
            phone.takeLog() == ["willSend manual", "sentZones +Trails", "didSend manual"])
        try await phone.engine.sendChanges(.init(scope: .zoneIDs([hutsID])))
        #expect(phone.takeLog() == ["willSend manual", "sent +a", "didSend manual"])
    }

    @Test func fetchRespectsScopeAndPriority() async throws {
        let world = EngineWorld()
        let phone = try await world.app("phone")
        let zoneIDs = ["A", "B", "C"].map { CKRecordZone.ID(zoneName: $0) }
        phone.engine.state.add(
            pendingDatabaseChanges: zoneIDs.map { .saveZone(CKRecordZone(zoneID: $0)) })
        try await phone.engine.sendChanges()
        let tablet = try await world.app("tablet")
        try await tablet.engine.fetchChanges(.init(scope: .zoneIDs([zoneIDs[1]])))
        #expect(
            tablet.takeLog().filter { $0.hasPrefix("didFetch") } == [
                "didFetch B", "didFetch manual",
            ])
        #expect(
            Set(tablet.engine.state.zoneIDsWithUnfetchedServerChanges) == [zoneIDs[0], zoneIDs[2]])
        tablet.options { context in
            var options = context.options
            options.prioritizedZoneIDs = [zoneIDs[2]]
            return options
        }
        tablet.restart()
        try await tablet.engine.fetchChanges()
        #expect(
            tablet.takeLog().filter { $0.hasPrefix("didFetch") } == [
                "didFetch C", "didFetch A", "didFetch manual",
            ])
        #expect(tablet.engine.state.zoneIDsWithUnfetchedServerChanges.isEmpty)
    }

    @Test func delegateIsAskedBeforeEachPage() async throws {
        let world = EngineWorld()
        let phone = try await world.app("phone")
        phone.makeZone()
        for number in 0..<450 { phone.write("n\(number)", "x") }
        try await phone.engine.sendChanges()
        let tablet = try await world.app("tablet")
        let asked = Mutex<[CKSyncEngine.SyncReason]>([])
        tablet.options { context in
            asked.withLock { $0.append(context.reason) }
            return context.options
        }
        try await tablet.engine.fetchChanges()
        let pages = tablet.log.filter { $0.hasPrefix("fetched ") }
        #expect(pages.count > 1 && tablet.texts.count == 450)
        // In the order in which they were saved.
        let names = pages.flatMap { $0.split(separator: " ").dropFirst() }
        #expect(names == (0..<450).map { "+n\($0)" })
        #expect(tablet.log.filter { $0 == "didFetch Huts" }.count == 1)
        // The database, and each page of the zone.
        #expect(asked.withLock { $0 } == Array(repeating: .manual, count: 1 + pages.count))
    }

    @Test func scopesContainTheirZonesAndRecords() {
        typealias Fetch = CKSyncEngine.FetchChangesOptions.Scope
        typealias Send = CKSyncEngine.SendChangesOptions.Scope
        let other = CKRecordZone.ID(zoneName: "Other")
        #expect(Fetch.all.contains(hutsID) && Fetch.zoneIDs([hutsID]).contains(hutsID))
        #expect(!Fetch.zoneIDs([]).contains(hutsID))
        #expect(!Fetch.allExcluding([hutsID]).contains(hutsID))
        #expect(Fetch.allExcluding([hutsID]).contains(other))
        #expect(Send.all.contains(hut("a")) && Send.zoneIDs([hutsID]).contains(hut("a")))
        #expect(!Send.allExcluding([hutsID]).contains(hut("a")))
        #expect(Send.recordIDs([hut("a")]).contains(.deleteRecord(hut("a"))))
        #expect(!Send.recordIDs([hut("a")]).contains(.saveRecord(hut("b"))))
        #expect(Send.zoneIDs([other]) != .zoneIDs([hutsID]) && Fetch.all == .all)
    }

    @Test func eventDescriptionsOmitFieldValues() async throws {
        let (phone, tablet) = try await EngineWorld().pair()
        let lines = Mutex<[String]>([])
        tablet.whenEvent { event, _ in lines.withLock { $0.append("\(event)") } }
        phone.write("a", "secret")
        try await phone.engine.sendChanges()
        tablet.write("a", "other secret")
        #expect(await codeOf { try await tablet.engine.sendChanges() } == .partialFailure)
        try await tablet.engine.fetchChanges()
        let text = lines.withLock { $0 }.joined(separator: "\n")
        #expect(!text.contains("secret"))
        #expect(text.contains("<WillSendChanges: <SendChangesContext: manual, all>>"))
        #expect(text.contains("failed [\"a: serverRecordChanged\"]"))
        #expect(text.contains("<FetchedRecordZoneChanges: 1 changed, 0 deleted>"))
        #expect("\(phone.engine)".contains("0 pending"))
    }

    @Test func fetchedZoneLeavesUnfetchedListBeforeEvent() async throws {
        let (phone, tablet) = try await EngineWorld().pair()
        phone.write("a", "2")
        try await phone.engine.sendChanges()
        let seen = Mutex<[String: [CKRecordZone.ID]]>([:])
        tablet.whenEvent { event, engine in
            guard let line = event.line else { return }
            seen.withLock { $0[line] = engine.state.zoneIDsWithUnfetchedServerChanges }
        }
        try await tablet.engine.fetchChanges()
        let lists = seen.withLock { $0 }
        #expect(lists["willFetch Huts"] == [hutsID] && lists["fetched +a"] == [hutsID])
        #expect(lists["didFetch Huts"] == [])
    }

    @Test func eventsOfConcurrentCallsDoNotInterleave() async throws {
        let (phone, _) = try await EngineWorld().pair()
        for number in 0..<20 { phone.write("n\(number)", "1") }
        phone.whenEvent { _, _ in await Task.yield() }
        async let sent: Void = phone.engine.sendChanges()
        async let fetched: Void = phone.engine.fetchChanges()
        async let again: Void = phone.engine.fetchChanges()
        _ = try await (sent, fetched, again)
        var open: String?
        for line in phone.log {
            let words = line.split(separator: " ")
            if words.last != "manual" { continue }
            if line.hasPrefix("will") {
                #expect(open == nil)
                open = String(words[0].dropFirst(4))
            } else {
                #expect(open == String(words[0].dropFirst(3)))
                open = nil
            }
        }
        #expect(open == nil)
    }

    @Test func engineRunsOnSharedDatabase() async throws {
        let connection = try await TestCloud().connect(user: "ida", device: "phone")
        let container = CKContainer(identifier: EngineWorld.container, connection: connection)
        let app = EngineApp(container.sharedCloudDatabase)
        try await app.engine.fetchChanges()
        #expect(app.log == ["signIn", "willFetch manual", "didFetch manual"])
        app.makeZone()
        app.resolveNothing()
        #expect(await codeOf { try await app.engine.sendChanges() } == .badDatabase)
        #expect(app.log.contains("sentZones +Huts!badDatabase"))
        #expect(app.engine.state.pendingDatabaseChanges.isEmpty)
    }

    @Test func engineRefusesPublicDatabase() async throws {
        let result = try await #require(
            processExitsWith: .failure, observing: [\.standardErrorContent]
        ) {
            let connection = try await TestCloud().connect(user: "ida", device: "phone")
            let container = CKContainer(identifier: "iCloud.x", connection: connection)
            _ = EngineApp(container.publicCloudDatabase).engine
        }
        let words = String(decoding: result.standardErrorContent, as: UTF8.self)
        #expect(words.contains("give a sync engine the private or the shared one"))
    }

    @Test func delegateAwaitingItsEngineTraps() async throws {
        let result = try await #require(
            processExitsWith: .failure, observing: [\.standardErrorContent]
        ) {
            let app = try await EngineWorld().app("phone")
            app.whenEvent { _, engine in
                // The process traps here.
                try? await engine.fetchChanges()
            }
            try await app.engine.fetchChanges()
        }
        let words = String(decoding: result.standardErrorContent, as: UTF8.self)
        #expect(words.contains("after the method has returned"))
    }

    @Test func taskStartedByDelegateMayAwaitEngine() async throws {
        let app = try await EngineWorld().app("phone")
        let (ends, end) = AsyncStream.makeStream(of: Bool.self)
        app.whenEvent { event, engine in
            guard case .accountChange = event else { return }
            Task {
                // The stream shows that the call returned; its result does not matter.
                try? await engine.fetchChanges()
                end.yield(true)
            }
        }
        try await app.engine.fetchChanges()
        var iterator = ends.makeAsyncIterator()
        #expect(await iterator.next() == true)
    }
}
