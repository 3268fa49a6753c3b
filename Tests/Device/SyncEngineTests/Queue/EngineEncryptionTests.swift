import Foundation
import StratusClient
import StratusRecords
import StratusSyncEngine
import StratusTesting
import StratusWire
import Synchronization
import Testing

/// The engine sends no encrypted field in the clear, and accepts none from a hostile service.
@Suite struct EngineEncryptionTests {
    private static let forgery = "Send money to Mallory."

    /// A service that writes the test's forged values into the fields of fetched changes.
    private final class HostileTransport: Transport {
        private let inner: any Transport
        private let forged = Mutex<Field?>(nil)
        private let sentFields = Mutex<[Field]>([])

        init(_ inner: any Transport) { self.inner = inner }

        var sent: [Field] { sentFields.withLock { $0 } }
        func forge(_ field: Field?) { forged.withLock { $0 = field } }

        func send<E: Endpoint>(
            _ endpoint: E.Type, _ request: E.Request, to target: RequestTarget,
            timeoutSeconds: Double
        ) async throws -> E.Answer {
            if let request = request as? RecordsModify.Request {
                for operation in request.operations {
                    let fields = try operation.record.fields.values()
                    sentFields.withLock { $0 += fields }
                }
            }
            let answer = try await inner.send(
                endpoint, request, to: target, timeoutSeconds: timeoutSeconds)
            guard let field = forged.withLock({ $0 }), let changes = answer as? ChangesZone.Answer
            else { return answer }
            let tampered = ChangesZone.Answer(
                changes.items.map { item in
                    item.map { page in
                        var page = page
                        page.records = page.records.map { result in
                            guard case .record(var record) = result else { return result }
                            record.fields = .values([field])
                            return .record(record)
                        }
                        return page
                    }
                })
            return tampered as? E.Answer ?? answer
        }

        func nextNotification(
            at webcourierURL: String, timeoutSeconds: Double
        ) async throws -> NotificationPayload? {
            try await inner.nextNotification(at: webcourierURL, timeoutSeconds: timeoutSeconds)
        }
    }

    /// Sends one record with the engine.
    private func send(_ record: CKRecord, with app: EngineApp) async throws {
        let change = CKSyncEngine.PendingRecordZoneChange.saveRecord(record.recordID)
        app.batch { _ in
            guard app.engine.state.pendingRecordZoneChanges.contains(change) else { return nil }
            return await EngineApp.Batch(pendingChanges: [change]) { _ in record }
        }
        app.engine.state.add(pendingRecordZoneChanges: [change])
        try await app.engine.sendChanges()
    }

    @Test(arguments: [true, false])
    func plainAndForgedValuesOfEncryptedFieldsAreRefused(isEncrypted: Bool) async throws {
        let world = EngineWorld()
        let link = try await world.cloud.connect(user: "ida", device: "phone")
        let transport = HostileTransport(link.transport)
        let connection = CloudConnection(
            transport: transport, hasAccount: true, deviceID: "phone",
            keyStore: world.cloud.keyStore)
        let container = CKContainer(
            identifier: EngineWorld.container, connection: connection)
        let app = EngineApp(container.privateCloudDatabase)
        app.resolveNothing()
        app.makeZone()
        let record = CKRecord(recordType: "Hut", recordID: hut("a"))
        record.encryptedValues["diary"] = "We met a marmot."
        try await send(record, with: app)

        let plain = CKRecord(recordType: "Hut", recordID: hut("b"))
        plain["diary"] = "Grossglockner"
        let error = await #expect(throws: CKError.self) { try await send(plain, with: app) }
        #expect(error?.contains(.invalidArguments) == true)
        #expect(!transport.sent.contains { $0.value == .string("Grossglockner") })

        let tablet = try await world.app("tablet")
        let other = try await tablet.database.record(for: record.recordID)
        other["name"] = "Gipfel"
        try await tablet.database.save(other)
        transport.forge(
            Field(name: "diary", value: .string(Self.forgery), isEncrypted: isEncrypted))
        try await app.engine.fetchChanges()
        let fetched = try #require(app.file.known["a"])
        #expect(fetched.recordChangeTag != record.recordChangeTag)
        #expect(fetched.encryptedValues["diary"] as String? == nil)
        #expect(fetched["diary"] as String? == nil)
    }
}
