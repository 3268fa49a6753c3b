import Foundation
import StratusRecords
import StratusService
import StratusStorage
import StratusTesting
import StratusWire
import TestServing
import Testing

@testable import StratusClient

/// Work that was begun for one account does not continue for the next one.
@Suite(.timeLimit(.minutes(20))) struct AccountSwitchTests {
    /// Ida's phone, which a test can switch to Bo's account.
    private struct Phone {
        let cloud: TestCloud
        let clock = TestClock()
        let inner: any AccountTransport
        let transport: TappedTransport
        let connection: CloudConnection

        init(_ cloud: TestCloud = TestCloud()) async throws {
            self.cloud = cloud
            let link = try await cloud.connect(user: "ida", device: "phone").transport
            inner = try #require(link as? any AccountTransport)
            transport = TappedTransport(inner)
            connection = CloudConnection(
                transport: transport, hasAccount: true, deviceID: "phone", world: clock.world,
                keyStore: cloud.keyStore)
        }

        var database: CKDatabase {
            CKContainer(identifier: Trip.identifier, connection: connection).privateCloudDatabase
        }

        @Sendable func becomeBos() async throws {
            let session = try await cloud.service.signInForDevelopment(user: "bo")
            inner.changeAccount(webAuthToken: session.webAuthToken)
            connection.accountChanged(hasAccount: true)
        }

        /// Another device of a user.
        func tablet(_ user: String) async throws -> CKDatabase {
            try await cloud.container(Trip.identifier, user: user, device: "tablet")
                .privateCloudDatabase
        }

        func hasRecord(_ user: String) async throws -> Bool {
            try await tablet(user).records(for: [note().recordID]).values
                .contains { $0.success != nil }
        }
    }

    @Test func pendingRetryIsNotSentAsNextUser() async throws {
        let phone = try await Phone()
        phone.transport.tap {
            $0.request = { _ in throw TransportError(.noRoute, "The network is gone.") }
        }
        let log = Log()
        let save = CKModifyRecordsOperation(recordsToSave: [note()])
        save.qualityOfService = .utility
        save.modifyRecordsResultBlock = { result in
            log.add("\((result.failure as? CKError)?.code == .notAuthenticated)")
        }
        async let saved: Void = run(save, on: phone.database)
        await phone.clock.waitForSleeper(seconds: 0...1)
        try await phone.becomeBos()
        phone.transport.tap { $0.request = { _ in } }
        phone.clock.advance(bySeconds: 1)
        await saved
        #expect(log.all == ["true"])
        #expect(try await !phone.hasRecord("bo"))
        #expect(try await !phone.hasRecord("ida"))
        // Later requests are Bo's.
        try await phone.database.save(note())
        #expect(try await phone.hasRecord("bo"))
    }

    @Test("A save is not sent as the user who signs in before its token is read")
    func saveDuringAccountSwitchIsNotSentAsNextUser() async throws {
        let phone = try await Phone()
        phone.transport.tap {
            $0.request = { request in
                if request is RecordsModify.Request { try await phone.becomeBos() }
            }
        }
        await #expect(throws: CKError(.notAuthenticated)) {
            try await phone.database.save(note())
        }
        #expect(try await !phone.hasRecord("bo"))
        #expect(try await !phone.hasRecord("ida"))
    }

    @Test func userWhoSignsInDuringTheEndOfASessionStaysSignedIn() async throws {
        let phone = try await Phone()
        phone.transport.tap {
            $0.served = { if $0 == UsersSignOut.path { try await phone.becomeBos() } }
        }
        await #expect(throws: CKError(.notAuthenticated)) {
            try await phone.connection.endSession(container: Trip.identifier)
        }
        #expect(phone.connection.hasAccount)
        try await phone.database.save(note())
        #expect(try await phone.hasRecord("bo"))
    }

    @Test func sessionOfAUserWhoSignsInBeforeTheFormerOneHasEndedIsKept() async throws {
        let phone = try await Phone()
        var events = phone.connection.remoteNotifications(container: Trip.identifier)
            .makeAsyncIterator()
        guard case .listening = await events.next() else { throw CancellationError() }
        phone.transport.tap {
            $0.served = { if $0 == TokensUnregister.path { try await phone.becomeBos() } }
        }
        await #expect(throws: CKError(.notAuthenticated)) {
            try await phone.connection.endSession(container: Trip.identifier)
        }
        #expect(!phone.transport.sent.all.contains(UsersSignOut.path))
        try await phone.database.save(note())
        #expect(try await phone.hasRecord("bo"))
    }

    @Test("Over HTTP, a save is not sent as the user who signs in before its token is read")
    func saveDuringAccountSwitchIsNotSentAsNextUserOverHTTP() async throws {
        let service = CloudService(
            storage: SQLiteStorageEngine.inMemory(),
            settings: ServiceSettings(isForDevelopment: true))
        let ida = try await service.signInForDevelopment(user: "ida").webAuthToken
        let bo = try await service.signInForDevelopment(user: "bo").webAuthToken
        try await withServer(service) { port in
            let link = try #require(
                HTTPTransport(
                    origin: "http://127.0.0.1:\(port)",
                    credentials: .init(apiToken: "development", webAuthToken: ida),
                    deviceID: "phone"))
            let transport = TappedTransport(link)
            let connection = CloudConnection(
                transport: transport, hasAccount: true, deviceID: "phone",
                keyStore: MemoryKeyStore())
            let database = CKContainer(identifier: Trip.identifier, connection: connection)
                .privateCloudDatabase
            transport.tap {
                $0.request = { request in
                    if request is RecordsModify.Request { try connection.signIn(webAuthToken: bo) }
                }
            }
            await #expect(throws: CKError(.notAuthenticated)) { try await database.save(note()) }
            transport.tap { $0.request = { _ in } }
            // The device is Bo's now.
            let found = try await database.records(for: [note().recordID])
            #expect(found.values.allSatisfy { $0.success == nil })
        }
    }

    @Test func saveAfterAssetUploadFailsOnAccountSwitch() async throws {
        let phone = try await Phone()
        let scratch = try Scratch()
        let record = note()
        record["photo"] = CKAsset(fileURL: try scratch.file("photo", bytes: 10))
        phone.transport.tap { $0.upload = { try await phone.becomeBos() } }
        await #expect(throws: CKError(.notAuthenticated)) {
            try await phone.database.save(record)
        }
        #expect(try await !phone.hasRecord("bo"))
    }

    @Test func fetchDuringAccountSwitchIsNotAuthenticated() async throws {
        let phone = try await Phone()
        try await phone.database.save(note())
        let bos = try await phone.tablet("bo")
        let record = note()
        record["owner"] = "bo"
        try await bos.save(record)
        phone.transport.tap {
            $0.request = { request in
                if request is RecordsLookup.Request { try await phone.becomeBos() }
            }
        }
        await #expect(throws: CKError(.notAuthenticated)) {
            try await phone.database.record(for: note().recordID)
        }
    }

    @Test func notificationListenerFollowsAccount() async throws {
        let cloud = TestCloud()
        let phone = try await cloud.connect(user: "ida", device: "phone")
        var tablets: [String: CKDatabase] = [:]
        for user in ["ida", "bo"] {
            let tablet = try await cloud.container(Trip.identifier, user: user, device: "tablet")
                .privateCloudDatabase
            try await tablet.save(CKRecordZone(zoneID: trips))
            try await tablet.save(CKDatabaseSubscription(subscriptionID: user))
            tablets[user] = tablet
        }
        let (ida, bo) = (try #require(tablets["ida"]), try #require(tablets["bo"]))
        var events = phone.remoteNotifications(container: Trip.identifier).makeAsyncIterator()
        guard case .listening = await events.next() else { throw CancellationError() }

        try await cloud.signIn("bo", on: phone)
        guard case .listening = await events.next() else { throw CancellationError() }
        try await ida.save(hut("a"))
        try await bo.save(hut("b"))
        guard case .notification(let first) = await events.next() else { throw CancellationError() }
        #expect(first.subscriptionID == "bo")

        // Without an account the service is not polled; after the sign-in the next account is.
        try phone.signOut()
        try await bo.save(hut("c"))
        try await cloud.signIn("ida", on: phone)
        guard case .listening = await events.next() else { throw CancellationError() }
        try await ida.save(hut("d"))
        guard case .notification(let next) = await events.next() else { throw CancellationError() }
        #expect(next.subscriptionID == "ida")
    }

    @Test func endingSessionUnregistersDevice() async throws {
        let storage = SQLiteStorageEngine.inMemory()
        let cloud = TestCloud(storage: storage)
        let phone = try await cloud.connect(user: "ida", device: "phone")
        let container = CKContainer(identifier: Trip.identifier, connection: phone)
        let user = try await container.userRecordID().recordName
        let address = ContainerAddress(container: Trip.identifier, environment: .development)
        var events = phone.remoteNotifications(container: Trip.identifier).makeAsyncIterator()
        guard case .listening = await events.next() else { throw CancellationError() }
        #expect(try await storage.directory.devices(of: user, in: address).count == 1)
        try await phone.endSession(container: Trip.identifier)
        #expect(try await storage.directory.devices(of: user, in: address).isEmpty)
    }
}

private func note() -> CKRecord {
    CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "diary"))
}
