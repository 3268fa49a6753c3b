import Foundation
import Hummingbird
import StratusClient
import StratusRecords
import StratusService
import StratusStorage
import StratusTesting
import StratusWire
import TestServing
import Testing

/// How a client reports each fault, over HTTP and in process.
@Suite struct ClientFaultTests {
    enum Way: CaseIterable, Sendable {
        case http
        case inProcess
    }

    /// A cloud and a device of the user "ida", connected in one of the ways.
    private func withCloud(
        _ way: Way,
        _ body: @escaping @Sendable (TestCloud, CKContainer) async throws -> Void
    ) async throws {
        let cloud = TestCloud()
        let identifier = "iCloud.org.example.Trails"
        guard way == .http else {
            return try await body(
                cloud, try await cloud.container(identifier, user: "ida", device: "phone"))
        }
        try await withServer(cloud.service) { port in
            let connection = CloudConnection(environmentVariables: [
                "STRATUS_URL": "http://127.0.0.1:\(port)/", "STRATUS_DEVICE_ID": "phone",
                "STRATUS_DEV_USER": "ida",
            ])
            try await body(cloud, CKContainer(identifier: identifier, connection: connection))
        }
    }

    private func withZone(_ container: CKContainer) async throws -> (CKDatabase, CKRecordZone.ID) {
        let zoneID = CKRecordZone.ID(zoneName: "Trips")
        try await container.privateCloudDatabase.save(CKRecordZone(zoneID: zoneID))
        return (container.privateCloudDatabase, zoneID)
    }

    /// Over HTTP the cancelled task closes the connection; in process the service is cancelled and answers with its own
    /// error.
    @Test func taskCancelledWhileServedIsOperationCancelled() async throws {
        try await withCloud(.inProcess) { cloud, container in
            cloud.faults.nextRequests(1, .delay(seconds: 3_600))
            let database = container.privateCloudDatabase
            let task = Task { _ = try await database.record(for: hut("a").recordID) }
            while !cloud.faults.remaining.isEmpty { await Task.yield() }
            task.cancel()
            let error = await #expect(throws: CKError.self) { try await task.value }
            #expect(error?.code == .operationCancelled)
        }
    }

    @Test(arguments: Way.allCases)
    func missingZoneReportsEncryptedDataReset(_ way: Way) async throws {
        try await withCloud(way) { cloud, container in
            let database = container.privateCloudDatabase
            let reasons: [(Fault.ZoneResetReason, CKError.Code, Bool?)] = [
                (.encryptedDataReset, .zoneNotFound, true), (.deleted, .zoneNotFound, nil),
                (.purged, .userDeletedZone, nil),
            ]
            for (reason, code, wasReset) in reasons {
                try await database.save(CKRecordZone(zoneID: trips))
                cloud.faults.resetZone("Trips", reason: reason)
                let bodies: [() async throws -> Void] = [
                    { try await database.save(hut("a")) },
                    { _ = try await database.record(for: hut("a").recordID) },
                    { _ = try await database.recordZone(for: trips) },
                    { _ = try await database.recordZoneChanges(inZoneWith: trips, since: nil) },
                ]
                for body in bodies {
                    let error = await error(body)
                    #expect(error?.code == code)
                    let value = error?.userInfo[CKErrorUserDidResetEncryptedDataKey] as? Bool
                    #expect(value == wasReset)
                }
            }
        }
    }

    private func error(
        _ body: () async throws -> Void
    ) async -> CKError? {
        do {
            try await body()
            return nil
        } catch {
            return error as? CKError
        }
    }

    @Test(arguments: Way.allCases)
    func faultAnswerGivesErrorWithRetryAfter(_ way: Way) async throws {
        try await withCloud(way) { cloud, container in
            let database = container.privateCloudDatabase
            cloud.faults.next(
                2, of: RecordsModify.self, .answer(.throttled, retryAfterSeconds: 3))
            cloud.faults.next(
                of: RecordsModify.self, .answer(.quotaExceeded, frameworkCode: .quotaExceeded))
            for code in [CKError.Code.requestRateLimited, .requestRateLimited, .quotaExceeded] {
                let record = CKRecord(recordType: "Hut")
                let error = await self.error { _ = try await database.save(record) }
                #expect(error?.code == code)
                #expect(error?.retryAfterSeconds == (code == .quotaExceeded ? nil : 3))
            }
            try await database.save(CKRecord(recordType: "Hut"))
            #expect(cloud.faults.remaining.isEmpty)
        }
    }

    @Test(arguments: Way.allCases)
    func droppedConnectionLeavesOutcomeUnknown(_ way: Way) async throws {
        try await withCloud(way) { cloud, container in
            let database = container.privateCloudDatabase
            for isSaved in [false, true] {
                cloud.faults.next(
                    of: RecordsModify.self,
                    isSaved ? .dropConnectionAfterCommit : .dropConnectionBeforeCommit)
                let id = CKRecord.ID(recordName: "r\(isSaved)")
                let error = await self.error {
                    _ = try await database.save(CKRecord(recordType: "Hut", recordID: id))
                }
                #expect(error?.code == .serverResponseLost, "\(String(describing: error))")
                let found = await self.error { _ = try await database.record(for: id) }
                #expect(found?.code == (isSaved ? nil : .unknownItem))
            }
            #expect(cloud.faults.remaining.isEmpty)
        }
    }

    @Test(arguments: Way.allCases)
    func repeatedOperationIDIsIdempotentPerDevice(_ way: Way) async throws {
        try await withCloud(way) { cloud, container in
            let connection = container.connection
            func save(device: String?) async throws -> RecordResult? {
                try await connection.transport.send(
                    RecordsModify.self,
                    RecordsModify.Request(
                        operations: [
                            .init(
                                .create, RecordDictionary(recordName: "a", recordType: "Hut"))
                        ], operationID: "once"),
                    to: RequestTarget(
                        container: ContainerAddress(
                            container: "iCloud.org.example.Trails", environment: .development),
                        scope: .private, deviceID: device), timeoutSeconds: 60
                ).records.first
            }
            var isSaved: [Bool] = []
            // From another device it is a new request, which fails as the record exists.
            for device in ["earlier", "earlier", nil] {
                let result = try await save(device: device)
                if case .record = result { isSaved.append(true) } else { isSaved.append(false) }
            }
            #expect(isSaved == [true, true, false])
        }
    }

    @Test(arguments: Way.allCases)
    func faultExpiresChangeToken(_ way: Way) async throws {
        try await withCloud(way) { cloud, container in
            let (database, zoneID) = try await withZone(container)
            let token = try await database.recordZoneChanges(inZoneWith: zoneID, since: nil)
                .changeToken
            cloud.faults.next(of: ChangesZone.self, inZone: "Trips", .expireChangeTokens)
            let error = await self.error {
                _ = try await database.recordZoneChanges(inZoneWith: zoneID, since: token)
            }
            #expect(error?.code == .changeTokenExpired)
            _ = try await database.recordZoneChanges(inZoneWith: zoneID, since: token)
        }
    }

    @Test(arguments: Way.allCases)
    func faultResetsZoneBeforeSave(_ way: Way) async throws {
        try await withCloud(way) { cloud, container in
            let (database, zoneID) = try await withZone(container)
            cloud.faults.resetZone("Trips", reason: .purged, beforeNext: RecordsModify.self)
            let record = CKRecord(
                recordType: "Hut", recordID: CKRecord.ID(recordName: "a", zoneID: zoneID))
            let error = await self.error { _ = try await database.save(record) }
            #expect(error?.code == .zoneNotFound || error?.code == .userDeletedZone)
            #expect(cloud.faults.remaining.isEmpty)
        }
    }

    @Test(arguments: Way.allCases)
    func delayedAnswerIsNoError(_ way: Way) async throws {
        try await withCloud(way) { cloud, container in
            cloud.faults.nextRequests(2, .delay(seconds: 0.001))
            try await container.privateCloudDatabase.save(CKRecord(recordType: "Hut"))
        }
    }
}
