import StratusService
import Testing

@testable import StratusServer

/// How many bytes are counted for a connection, from the arrival of a request until its answer is sent.
@Suite struct ConnectionLedgerTests {
    private let budget = MemoryBudget(limitBytes: 1_000_000)

    private func ledger() -> ConnectionLedger {
        ConnectionLedger(budget, networkAddress: "10.0.0.1")
    }

    @Test func requestIsHeldUntilItIsAnswered() {
        let ledger = ledger()
        ledger.arrived(100)
        ledger.arrived(50)
        ledger.requestEnded()
        // The next request on the same connection has already arrived.
        ledger.arrived(30)
        #expect(budget.heldBytes == 180 && ledger.arrivedBytes == 180)
        ledger.wrote(1_000)
        ledger.answered()
        #expect(budget.heldBytes == 1_030)
        ledger.unsent(atMost: 400)
        #expect(budget.heldBytes == 430)
        ledger.unsent(atMost: 0)
        #expect(budget.heldBytes == 30)
    }

    /// A connection with a request in progress uses more memory than its bytes, and an idle one uses some.
    @Test func tasksOfRequestsAreCountedBesideTheirBytes() {
        let first = ledger()
        let idle = budget.besideBytes
        #expect(idle > 0)
        first.arrived(100)
        let asking = budget.besideBytes
        #expect(asking > idle)
        // The request queued behind it is not in progress yet.
        first.requestEnded()
        first.arrived(100)
        #expect(budget.besideBytes == asking)
        first.answered()
        #expect(budget.besideBytes == asking)
        // Refused before it arrived completely.
        first.answered()
        #expect(budget.besideBytes == asking)
        first.requestEnded()
        #expect(budget.besideBytes == idle)
        do {
            let second = ledger()
            second.arrived(100)
            #expect(budget.besideBytes == idle + asking)
        }
        #expect(budget.besideBytes == idle)
        first.arrived(100)
        first.end()
        #expect(budget.besideBytes == 0)
    }

    /// The rest of a refused request is discarded, and not counted.
    @Test func restOfRefusedRequestIsNotHeld() {
        let ledger = ledger()
        ledger.arrived(100)
        ledger.answered()
        ledger.arrived(5_000)
        #expect(budget.heldBytes == 0)
        ledger.requestEnded()
        ledger.arrived(70)
        #expect(budget.heldBytes == 70)
        ledger.requestEnded()
        ledger.answered()
        #expect(budget.heldBytes == 0 && ledger.arrivedBytes == 0)
    }

    @Test func usedBytesAreReleased() {
        let ledger = ledger()
        ledger.arrived(1_000)
        ledger.used(900)
        ledger.arrived(200)
        #expect(budget.heldBytes == 300)
        ledger.used(5_000)
        #expect(budget.heldBytes == 0)
        ledger.requestEnded()
        ledger.answered()
        #expect(budget.heldBytes == 0)
    }

    /// Even while a task that one of its requests started still refers to it.
    @Test func endedConnectionHoldsNothing() {
        let ledger = ledger()
        ledger.arrived(1_000)
        ledger.wrote(5_000)
        ledger.end()
        #expect(budget.heldBytes == 0)
        ledger.answered()
        ledger.unsent(atMost: 0)
        #expect(budget.heldBytes == 0)
        withExtendedLifetime(ledger) {}
    }
}
