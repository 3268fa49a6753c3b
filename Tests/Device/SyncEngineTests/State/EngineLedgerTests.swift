import Foundation
import StratusRecords
import StratusSync
import Testing

@testable import StratusSyncEngine

extension ZoneID {
    fileprivate static let list = ZoneID(name: "List")
    fileprivate static let other = ZoneID(name: "Other")
}

/// The state that an engine must keep, as a value.
@Suite struct EngineLedgerTests {
    private let a = RecordID(name: "a", zoneID: .list)
    private let b = RecordID(name: "b", zoneID: .list)

    private func change(_ id: RecordID, _ kind: PendingChange.Kind = .save) -> PendingChange {
        PendingChange(id: id, kind: kind)
    }

    @Test func failedChangeReturnsToItsPlaceInPending() {
        var ledger = EngineLedger()
        ledger.add([(id: a, kind: .save), (id: b, kind: .save)])
        ledger.send([change(a)], askedAt: ledger.additionCount)
        #expect(Array(ledger.pending.keys) == [b] && Array(ledger.inFlight.keys) == [a])
        ledger.resolve([change(a)], [.pending])
        #expect(Array(ledger.pending.keys) == [a, b] && ledger.inFlight.isEmpty)
    }

    @Test func changeAddedInFlightStaysPending() {
        var ledger = EngineLedger()
        ledger.add([(id: a, kind: .save)])
        let asked = ledger.additionCount
        // The change is added again before the batch is taken, and once more while the batch is in flight.
        ledger.add([(id: a, kind: .save)])
        ledger.send([change(a)], askedAt: asked)
        #expect(ledger.pending[a]?.kind == .save && ledger.inFlight[a] != nil)
        ledger.add([(id: a, kind: .delete)])
        ledger.resolve([change(a)], [.pending])
        #expect(ledger.pending[a]?.kind == .delete && ledger.pending.count == 1)
    }

    /// As when a person undoes a deletion while its request waits for a network.
    @Test func changeRemovedInFlightIsNotSentAgain() throws {
        var ledger = EngineLedger()
        ledger.add([(id: a, kind: .delete), (id: b, kind: .delete)])
        ledger.send([change(a, .delete), change(b, .delete)], askedAt: ledger.additionCount)
        let isRemoved = ledger.remove([(id: a, kind: .delete), (id: b, kind: .save)])
        #expect(isRemoved)
        let data = try JSONEncoder().encode(ledger)
        let restarted = try JSONDecoder().decode(EngineLedger.self, from: data)
        #expect(Array(restarted.pending.keys) == [b])
        ledger.resolve(
            [change(a, .delete), change(b, .delete)], [.pending, .pending])
        #expect(Array(ledger.pending.keys) == [b] && ledger.withdrawn.isEmpty)
        // Added again, it is a change like others.
        ledger.add([(id: a, kind: .delete)])
        ledger.send([change(a, .delete)], askedAt: ledger.additionCount)
        ledger.resolve([change(a, .delete)], [.pending])
        #expect(Array(ledger.pending.keys) == [a, b])
    }

    @Test func sentSaveKeepsPendingDelete() {
        var ledger = EngineLedger()
        ledger.add([(id: a, kind: .delete)])
        ledger.send([change(a, .save)], askedAt: ledger.additionCount)
        #expect(ledger.pending[a]?.kind == .delete)
    }

    @Test func encodedLedgerKeepsInFlightAsPending() throws {
        var ledger = EngineLedger()
        ledger.add([(id: a, kind: .save), (id: b, kind: .delete)])
        ledger.send([change(a)], askedAt: ledger.additionCount)
        ledger.databaseToken = "d"
        ledger.zoneTokens = [.list: "l", .other: "o"]
        ledger.zonesToFetch = [.other]
        ledger.subscriptionID = "s"
        ledger.note([.list: 1, .other: 2])
        _ = ledger.account(is: "_ida")
        let data = try JSONEncoder().encode(ledger)
        let again = try JSONDecoder().decode(EngineLedger.self, from: data)
        #expect(Array(again.pending.keys) == [a, b] && again.inFlight.isEmpty)
        #expect(again.databaseToken == "d" && again.zoneTokens == [.list: "l", .other: "o"])
        #expect(again.zonesToFetch == [.other] && again.subscriptionID == "s")
        #expect(again.userRecordName == "_ida")
        #expect(again.zoneGenerations == [.list: 1, .other: 2])
    }

    @Test func onlyFirstSignInKeepsPendingChanges() {
        var ledger = EngineLedger()
        ledger.add([(id: a, kind: .save)])
        #expect(ledger.account(is: "_ida") == .signIn("_ida"))
        #expect(ledger.pending.count == 1 && ledger.account(is: "_ida") == nil)
        ledger.databaseToken = "d"
        let count = ledger.additionCount
        #expect(ledger.account(is: "_bo") == .switchAccounts(from: "_ida", to: "_bo"))
        #expect(ledger.pending.isEmpty && ledger.databaseToken == nil)
        // The session compares this count, so it never goes back.
        #expect(ledger.additionCount == count)
        #expect(ledger.account(is: nil) == .signOut("_bo"))
        #expect(ledger.account(is: nil) == nil)
    }
}
