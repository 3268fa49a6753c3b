import StratusClient
import StratusRecords
import StratusSyncEngine
import StratusTesting
import Synchronization
import Testing

/// Batches: their limits of records and bytes, invalid contents, and changes between two batches.
@Suite struct EngineBatchTests {
    @Test func batchHasAtMost250Records() async throws {
        let phone = try await EngineWorld().app("phone")
        phone.makeZone()
        for number in 0..<600 { phone.write("n\(number)", "x") }
        try await phone.engine.sendChanges()
        let counts = phone.log.filter { $0.hasPrefix("sent ") }.map {
            $0.split(separator: " ").count - 1
        }
        #expect(counts == [250, 250, 100])
        #expect(phone.engine.state.pendingRecordZoneChanges.isEmpty)
    }

    @Test func batchKeepsServiceByteLimit() async throws {
        let phone = try await EngineWorld().app("phone")
        phone.makeZone()
        for number in 0..<5 { phone.write("n\(number)", String(repeating: "x", count: 600_000)) }
        try await phone.engine.sendChanges()
        #expect(
            phone.log.filter { $0.hasPrefix("sent ") } == [
                "sent +n0 +n1", "sent +n2 +n3", "sent +n4",
            ])
    }

    @Test func missingRecordIsSkippedAndNilBatchEndsSend() async throws {
        let (phone, _) = try await EngineWorld().pair()
        phone.engine.state.add(pendingRecordZoneChanges: [.saveRecord(hut("ghost"))])
        try await phone.engine.sendChanges()
        #expect(phone.takeLog() == ["willSend manual", "didSend manual"])
        #expect(phone.engine.state.pendingRecordZoneChanges.isEmpty)
        phone.write("b", "1")
        phone.batch { _ in nil }
        try await phone.engine.sendChanges()
        #expect(phone.takeLog() == ["willSend manual", "didSend manual"])
        #expect(phone.engine.state.pendingRecordZoneChanges == [.saveRecord(hut("b"))])
        phone.batch(nil)
        try await phone.engine.sendChanges()
        #expect(phone.takeLog() == ["willSend manual", "sent +b", "didSend manual"])
    }

    @Test func oversizedOrOutOfScopeBatchIsNotSent() async throws {
        let (phone, _) = try await EngineWorld().pair()
        phone.write("b", "1")
        phone.batch { _ in
            .init(
                recordsToSave: (0..<251).map {
                    CKRecord(recordType: "Hut", recordID: hut("n\($0)"))
                })
        }
        #expect(await codeOf { try await phone.engine.sendChanges() } == .limitExceeded)
        #expect(phone.takeLog() == ["willSend manual", "didSend manual"])
        phone.batch { _ in .init(recordIDsToDelete: [hut("a")]) }
        let scope = CKSyncEngine.SendChangesOptions(scope: .recordIDs([hut("b")]))
        #expect(await codeOf { try await phone.engine.sendChanges(scope) } == .invalidArguments)
        #expect(phone.engine.state.pendingRecordZoneChanges == [.saveRecord(hut("b"))])
        phone.batch(nil)
        try await phone.engine.sendChanges()
        #expect(phone.engine.state.pendingRecordZoneChanges.isEmpty)
    }

    @Test func changeMadeDuringSendIsSentAgain() async throws {
        let (phone, tablet) = try await EngineWorld().pair()
        let isFirst = Mutex(true)
        phone.write("a", "2")
        phone.batch { context in
            let record = phone.record(hut("a"))
            // The person edits the record after it was read for the batch and before it is sent.
            if isFirst.withLock({ $0 }) {
                phone.write("a", "3")
                isFirst.withLock { $0 = false }
            } else {
                phone.batch(nil)
            }
            return record.map { .init(recordsToSave: [$0]) }
        }
        try await phone.engine.sendChanges()
        #expect(
            phone.takeLog() == ["willSend manual", "sent +a", "sent +a", "didSend manual"])
        try await tablet.engine.fetchChanges()
        #expect(tablet.texts == ["a": "3"])
    }

    @Test func untrackedChangesAreSentWithoutPending() async throws {
        let (phone, tablet) = try await EngineWorld().pair()
        phone.engine.state.hasPendingUntrackedChanges = true
        phone.batch { _ in
            phone.batch { _ in nil }
            return .init(recordsToSave: [CKRecord(recordType: "Hut", recordID: hut("u"))])
        }
        try await phone.engine.sendChanges()
        #expect(phone.takeLog() == ["willSend manual", "sent +u", "didSend manual"])
        phone.engine.state.hasPendingUntrackedChanges = false
        try await phone.engine.sendChanges()
        #expect(phone.takeLog() == [])
        try await tablet.engine.fetchChanges()
        #expect(tablet.takeLog().contains("fetched +u"))
    }

    @Test func addedZonesAreSentBeforeNextBatch() async throws {
        let (phone, _) = try await EngineWorld().pair()
        for number in 0..<300 { phone.write("n\(number)", "x") }
        let trails = CKRecordZone(zoneName: "Trails")
        let isFirst = Mutex(true)
        phone.whenEvent { event, engine in
            guard case .sentRecordZoneChanges = event, isFirst.withLock({ $0 }) else { return }
            isFirst.withLock { $0 = false }
            engine.state.add(pendingDatabaseChanges: [.saveZone(trails)])
        }
        try await phone.engine.sendChanges()
        let words = phone.takeLog().map { $0.split(separator: " ")[0] }
        #expect(words == ["willSend", "sent", "sentZones", "sent", "didSend"])
    }
}
