import Foundation
import StratusClient
import StratusRecords
import StratusSync
import StratusSyncEngine
import StratusTesting
import StratusWire
import Synchronization
import Testing

/// Sign-ins, sign-outs and account switches while an engine runs.
@Suite struct EngineAccountTests {
    @Test func callsWithoutAccountThrowNotAuthenticated() async throws {
        let phone = try await SwitchableDevice(TestCloud(), "phone", user: nil)
        let app = phone.app
        app.makeZone()
        app.write("a", "1")
        #expect(await codeOf { try await app.engine.sendChanges() } == .notAuthenticated)
        #expect(await codeOf { try await app.engine.fetchChanges() } == .notAuthenticated)
        #expect(app.log == [])
        // Changes from before the sign-in are sent after it.
        try await phone.become("ida")
        try await app.engine.sendChanges()
        #expect(
            app.log == [
                "signIn", "willSend manual", "sentZones +Huts", "sent +a", "didSend manual",
            ])
    }

    @Test func missingAccountIsReportedWithAddress() async throws {
        let address = "http://127.0.0.1:1"
        let container = CKContainer(
            identifier: "iCloud.org.example.Huts",
            connection: CloudConnection(environmentVariables: ["STRATUS_URL": address]))
        var configuration = CKSyncEngine.Configuration(
            database: container.privateCloudDatabase, stateSerialization: nil,
            delegate: IdleDelegate())
        configuration.automaticallySync = false
        let engine = CKSyncEngine(configuration)
        let error = await #expect(throws: CKError.self) { try await engine.fetchChanges() }
        #expect(error?.localizedDescription.contains("sign in") == true)
        #expect(error?.localizedDescription.contains(address) == true)
    }

    @Test func signOutClearsState() async throws {
        let phone = try await SwitchableDevice.sent(["a": "1"])
        let app = phone.app
        try await app.engine.fetchChanges()
        app.write("a", "2")
        _ = app.takeLog()
        try await phone.become(nil)
        // The delegate gets the event without a fetch or a send.
        await app.waitForLog { $0 == ["signOut"] }
        #expect(app.engine.state.pendingRecordZoneChanges.isEmpty && app.texts.isEmpty)
        #expect(await codeOf { try await app.engine.fetchChanges() } == .notAuthenticated)
        try await phone.become("ida")
        try await app.engine.fetchChanges()
        #expect(app.texts == ["a": "1"])
        #expect(app.takeLog().filter { $0 == "signIn" }.count == 1)
    }

    @Test func accountSwitchSendsNothingOfFirstUser() async throws {
        let cloud = TestCloud()
        let phone = try await SwitchableDevice.sent(["a": "ida's"], to: cloud)
        let app = phone.app
        try await app.engine.fetchChanges()
        app.write("b", "ida's")
        _ = app.takeLog()
        try await phone.become("bo")
        await app.waitForLog { $0 == ["switchAccounts"] }
        try await app.engine.sendChanges()
        try await app.engine.fetchChanges()
        #expect(app.texts.isEmpty)
        #expect(app.log == ["switchAccounts", "willFetch manual", "didFetch manual"])
    }

    @Test func accountSwitchDuringFetchDiscardsAnswer() async throws {
        let cloud = TestCloud()
        let (phone, app) = try await SwitchableDevice.sentAndReceived(["a": "1"], to: cloud)
        phone.become("bo", during: ChangesDatabase.path)
        #expect(await codeOf { try await app.engine.fetchChanges() } == .operationCancelled)
        await app.waitForLog { $0.contains("switchAccounts") }
        #expect(app.takeLog() == ["willFetch manual", "didFetch manual", "switchAccounts"])
        // The engine starts with an empty state for the new account.
        #expect(app.engine.state.pendingRecordZoneChanges.isEmpty)
    }

    @Test func accountChangeWhileStoppedIsReportedOnce() async throws {
        let cloud = TestCloud()
        let phone = try await SwitchableDevice.sent(["a": "1"], to: cloud)
        let app = phone.app
        app.restart()
        _ = app.takeLog()
        try await phone.become("eve")
        try await phone.become("bo")
        try await app.engine.fetchChanges()
        #expect(app.takeLog() == ["switchAccounts", "willFetch manual", "didFetch manual"])
    }

    /// A process may have several engines, each with an account of its own.
    @Test func accountChangeOfAnotherConnectionIsIgnored() async throws {
        let cloud = TestCloud()
        let phone = try await SwitchableDevice(cloud, "phone", user: "ida")
        let tablet = try await SwitchableDevice(cloud, "tablet", user: "bo")
        // While the account is unknown, any change of it causes a lookup at once.
        let code = CKError.Code.accountTemporarilyUnavailable
        cloud.faults.next(
            of: UsersCaller.self, .answer(.authenticationFailed, frameworkCode: code))
        #expect(await codeOf { try await phone.app.engine.fetchChanges() } == code)
        for _ in 0..<100 {
            tablet.connection.accountChanged(hasAccount: true)
            // Lets the tasks that wait for account changes run.
            await Task.yield()
        }
        #expect(phone.transport.requests.count { $0 == UsersCaller.path } == 1)
        #expect(phone.app.log == [])
        phone.connection.accountChanged(hasAccount: true)
        await phone.app.waitForLog { $0 == ["signIn"] }
    }

    /// The engine does not know which account the pending changes belong to, so it keeps them.
    @Test func temporarilyUnavailableAccountKeepsPending() async throws {
        let phone = try await SwitchableDevice.withZone()
        let app = phone.app
        app.write("a", "1")
        let code = CKError.Code.accountTemporarilyUnavailable
        phone.cloud.faults.next(
            2, of: UsersCaller.self,
            .answer(.authenticationFailed, frameworkCode: code))
        #expect(await codeOf { try await app.engine.sendChanges() } == code)
        #expect(await codeOf { try await app.engine.fetchChanges() } == code)
        #expect(app.takeLog() == [])
        #expect(app.engine.state.pendingRecordZoneChanges == [.saveRecord(hut("a"))])
        try await app.engine.sendChanges()
        #expect(app.takeLog().contains("sent +a"))
    }

    @Test func accountSwitchDuringSendDropsPendingChanges() async throws {
        let cloud = TestCloud()
        let phone = try await SwitchableDevice.sent(to: cloud)
        let app = phone.app
        app.write("a", "ida's")
        app.write("b", "ida's")
        _ = app.takeLog()
        phone.become("bo", during: RecordsModify.path)
        #expect(await codeOf { try await app.engine.sendChanges() } == .operationCancelled)
        await app.waitForLog { $0.contains("switchAccounts") }
        #expect(app.engine.state.pendingRecordZoneChanges.isEmpty && app.texts.isEmpty)
        try await app.engine.sendChanges()
        let bos = try await EngineWorld(cloud).app("bo's tablet", user: "bo")
        try await bos.engine.fetchChanges()
        #expect(bos.texts.isEmpty)
    }

    @Test func sameUserAfterRestartIsNoAccountChange() async throws {
        let (phone, _) = try await EngineWorld().pair()
        phone.restart()
        try await phone.engine.fetchChanges()
        #expect(phone.takeLog() == ["willFetch manual", "didFetch manual"])
    }
}

/// An app that has nothing to sync.
private final class IdleDelegate: CKSyncEngineDelegate {
    func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {}

    func nextRecordZoneChangeBatch(
        _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.RecordZoneChangeBatch? { nil }
}
