import Foundation
import StratusClient
import StratusRecords
import StratusService
import StratusTesting
import StratusWire
import Testing

/// A device's account: its five states, its changes, and tokens for other devices.
@Suite struct ClientAccountTests {
    @Test func accountStatusReportsEachState() async throws {
        let cloud = TestCloud()
        func device(_ user: String?) async throws -> CKContainer {
            try await cloud.container(Trip.identifier, user: user, device: "phone")
        }
        #expect(try await device(nil).accountStatus() == .noAccount)
        #expect(try await device("ida").accountStatus() == .available)
        // The operator disables the account.
        let cy = try await device("cy")
        #expect(try await cy.accountStatus() == .available)
        try await cloud.service.accounts.setDisabled(true, "cy")
        #expect(try await cy.accountStatus() == .restricted)
        // The session ended elsewhere: there is an account, but it is not ready.
        let bo = try await device("bo")
        try await bo.connection.endSession(container: Trip.identifier)
        try bo.connection.signIn(webAuthToken: "of yesterday")
        #expect(try await bo.accountStatus() == .temporarilyUnavailable)
        #expect(await codeOf { _ = try await bo.userRecordID() } == .notAuthenticated)
        // An error that shows neither.
        let broken = container(
            ScriptedTransport { _, _ in
                throw TransportError(.notConfigured, "Set STRATUS_URL.")
            })
        let status = await withCheckedContinuation { continuation in
            broken.accountStatus { status, error in
                continuation.resume(returning: (status, (error as? CKError)?.code))
            }
        }
        #expect(status == (.couldNotDetermine, .badContainer))
        // An unreachable service does not change the status.
        let offline = container(
            ScriptedTransport { _, _ in throw TransportError(.noRoute, "No way.") })
        #expect(try await offline.accountStatus() == .available)
    }

    @Test func userRecordIsWritableByItsUserOnly() async throws {
        let cloud = TestCloud()
        let ida = try await cloud.container(Trip.identifier, user: "ida", device: "phone")
        let id = try await ida.userRecordID()
        #expect(id.recordName.hasPrefix("_") && id.zoneID == .default)
        let database = ida.publicCloudDatabase
        let record = try await database.record(for: id)
        #expect(record.recordType == CKRecord.SystemType.userRecord)
        record["nickname"] = "I."
        try await database.save(record)
        #expect(try await database.record(for: id)["nickname"] as? String == "I.")
        let bo = try await cloud.container(Trip.identifier, user: "bo", device: "phone")
        record["nickname"] = "B."
        #expect(
            await codeOf { try await bo.publicCloudDatabase.save(record) } == .permissionFailure)
    }

    @Test func longLivedOperationIDsAreEmptyAtFirst() async throws {
        let cloud = TestCloud()
        let ida = try await cloud.container(Trip.identifier, user: "ida", device: "phone")
        let ids: [CKOperation.ID]? = await withCheckedContinuation { continuation in
            ida.fetchAllLongLivedOperationIDs { ids, _ in continuation.resume(returning: ids) }
        }
        let isMissing: Bool = await withCheckedContinuation { continuation in
            ida.fetchLongLivedOperation(withID: "../../x") { operation, error in
                continuation.resume(returning: operation == nil && error == nil)
            }
        }
        #expect(ids == [] && isMissing)
        try ida.connection.signOut()
        #expect(await codeOf { _ = try await ida.allLongLivedOperationIDs() } == nil)
    }

    @Test func accountChangesPostNotification() async throws {
        let cloud = TestCloud()
        let phone = try await cloud.container(Trip.identifier, user: "ida", device: "phone")
        let log = Log()
        let observer = NotificationCenter.default.addObserver(
            forName: .CKAccountChanged, object: phone.connection, queue: nil
        ) { _ in log.add("changed") }
        defer { NotificationCenter.default.removeObserver(observer) }
        let ida = try await phone.userRecordID()
        try await phone.privateCloudDatabase.save(CKRecordZone(zoneName: "Mine"))
        #expect(log.all.isEmpty)

        try phone.connection.signOut()
        #expect(log.all.count == 1)
        #expect(try await phone.accountStatus() == .noAccount)
        #expect(await codeOf { _ = try await phone.userRecordID() } == .notAuthenticated)
        #expect(
            await codeOf { _ = try await phone.privateCloudDatabase.allRecordZones() }
                == .notAuthenticated)

        try await cloud.signIn("ida", on: phone.connection)
        #expect(log.all.count == 2)
        #expect(try await phone.accountStatus() == .available)
        #expect(try await phone.userRecordID() == ida)
        #expect(try await phone.privateCloudDatabase.allRecordZones().count == 2)

        try await cloud.signIn("bo", on: phone.connection)
        #expect(log.all.count == 3)
        #expect(try await phone.userRecordID() != ida)
        #expect(try await phone.privateCloudDatabase.allRecordZones().count == 1)
    }

    @Test func tokenOfEndedSessionIsRefused() async throws {
        let cloud = TestCloud()
        let phone = try await cloud.container(Trip.identifier, user: "ida", device: "phone")
        let token = try await webAuthToken(phone, ServiceSettings.developmentToken).get()
        try await phone.connection.endSession(container: Trip.identifier)
        #expect(!phone.connection.hasAccount)
        try phone.connection.signIn(webAuthToken: token)
        #expect(try await phone.accountStatus() == .temporarilyUnavailable)
    }

    @Test func webAuthTokenSignsInAnotherDevice() async throws {
        let cloud = TestCloud()
        let phone = try await cloud.container(Trip.identifier, user: "ida", device: "phone")
        let token = try await webAuthToken(phone, ServiceSettings.developmentToken).get()
        let browser = try await cloud.container(Trip.identifier, user: nil, device: "browser")
        try browser.connection.signIn(webAuthToken: token)
        #expect(try await browser.userRecordID() == (try await phone.userRecordID()))
        // The phone keeps its own session.
        #expect(try await phone.accountStatus() == .available)
        #expect(
            (await webAuthToken(phone, "unknown").failure as? CKError)?.code == .notAuthenticated)
        let nobody = try await cloud.container(Trip.identifier, user: nil, device: "kiosk")
        #expect(
            (await webAuthToken(nobody, ServiceSettings.developmentToken).failure as? CKError)?.code
                == .notAuthenticated)
    }

    @available(*, deprecated)
    @Test func deprecatedWebAuthTokenCompletionReportsError() async throws {
        let cloud = TestCloud()
        let phone = try await cloud.container(Trip.identifier, user: "ida", device: "phone")
        let log = Log()
        let operation = CKFetchWebAuthTokenOperation()
        operation.fetchWebAuthTokenCompletionBlock = { token, error in
            log.add("\(token == nil) \((error as? CKError)?.code == .invalidArguments)")
        }
        await run(operation, on: phone.privateCloudDatabase)
        #expect(log.all == ["true true"])
    }

    private func webAuthToken(
        _ container: CKContainer, _ apiToken: String
    ) async -> Result<String, any Error> {
        let results = Kept<Result<String, any Error>>()
        let operation = CKFetchWebAuthTokenOperation(apiToken: apiToken)
        operation.fetchWebAuthTokenResultBlock = { results.add($0) }
        await run(operation, on: container.privateCloudDatabase)
        return results.all.first ?? .failure(CKError(.internalError))
    }

    /// Ida's answer arrives after Bo has signed in: he does not get it, and her next token does not become his.
    @Test func lateAnswerOfEarlierAccountIsDiscarded() async throws {
        let gate = Gate()
        let cloud = gate.cloud()
        let phone = try await cloud.container(Trip.identifier, user: "ida", device: "phone")
        gate.delayNext(ZonesList.self, of: cloud)
        let zones = Task { try await phone.privateCloudDatabase.allRecordZones() }
        await gate.waitUntilDelayed()
        try await cloud.signIn("bo", on: phone.connection)
        gate.open()
        await #expect(throws: CKError(.notAuthenticated)) { try await zones.value }
        try await phone.privateCloudDatabase.save(CKRecordZone(zoneName: "Bo's"))
        let idas = try await cloud.container(Trip.identifier, user: "ida", device: "tablet")
        #expect(try await idas.privateCloudDatabase.allRecordZones().count == 1)
    }

    /// Ida's user record ID arrives late: it is neither returned nor cached for the next user.
    @Test func lateUserRecordIDIsDiscardedAfterAccountSwitch() async throws {
        let gate = Gate()
        let cloud = gate.cloud()
        let phone = try await cloud.container(Trip.identifier, user: "ida", device: "phone")
        gate.delayNext(UsersCaller.self, of: cloud)
        let late = Task { try await phone.userRecordID() }
        await gate.waitUntilDelayed()
        try await cloud.signIn("bo", on: phone.connection)
        gate.open()
        await #expect(throws: CKError(.notAuthenticated)) { try await late.value }
        let tablet = try await cloud.container(Trip.identifier, user: "bo", device: "tablet")
        #expect(try await phone.userRecordID() == (try await tablet.userRecordID()))
    }

    @Test func fixedAccountCannotBeChanged() async {
        let fixed = container(ScriptedTransport { _, _ in EmptyBody() })
        #expect(await codeOf { try fixed.connection.signOut() } == .invalidArguments)
        #expect(
            await codeOf { try await fixed.connection.endSession(container: Trip.identifier) }
                == .invalidArguments)
        #expect(fixed.connection.hasAccount)
    }
}
