import Foundation
import StratusClient
import StratusTesting
import Testing

/// Which containers and databases are equal.
@Suite struct ContainerTests {
    @Test func databasesOfEqualContainersAreEqual() async throws {
        let cloud = TestCloud()
        let connection = try await cloud.connect(user: "ida", device: "phone")
        let first = CKContainer(identifier: "iCloud.a", connection: connection)
        let second = CKContainer(identifier: "iCloud.a", connection: connection)
        #expect(first == second && first.hash == second.hash)
        let operation = CKFetchRecordZonesOperation.fetchAllRecordZonesOperation()
        await run(operation, on: first.privateCloudDatabase)
        #expect(operation.database == second.privateCloudDatabase)
        let databases: Set<CKDatabase> = [
            first.privateCloudDatabase, first.publicCloudDatabase, second.privateCloudDatabase,
            second.publicCloudDatabase,
        ]
        #expect(databases.count == 2)
        first.privateCloudDatabase.configuredWith(configuration: .init()) { database in
            #expect(database == second.privateCloudDatabase)
        }
        first.configuredWith(configuration: .init()) { container in
            #expect(container.privateCloudDatabase == second.privateCloudDatabase)
        }

        #expect(first.privateCloudDatabase != first.sharedCloudDatabase)
        let other = CKContainer(identifier: "iCloud.b", connection: connection)
        #expect(other != first && other.privateCloudDatabase != first.privateCloudDatabase)
        let tablet = try await cloud.container("iCloud.a", user: "ida", device: "tablet")
        #expect(tablet != first && tablet.privateCloudDatabase != first.privateCloudDatabase)
    }

    @Test func userHasSeparateRecordInEachDatabase() async throws {
        let container = try await TestCloud().container("iCloud.a", user: "ida", device: "phone")
        let user = try await container.userRecordID()
        let log = Log()
        let operation = CKFetchRecordsOperation.fetchCurrentUserRecordOperation()
        operation.perRecordResultBlock = { recordID, result in
            let record = try? result.get()
            log.add("\(recordID == user) \(record?.recordType ?? "-")")
        }
        // The operation has no database of its own, so it uses the private one.
        await run(operation, on: container)
        #expect(log.all == ["true Users"])

        let own = try await container.privateCloudDatabase.record(for: user)
        own["theme"] = "dark"
        try await container.privateCloudDatabase.save(own)
        let shown = try await container.publicCloudDatabase.record(for: user)
        #expect(shown.allKeys().isEmpty)
        let again = try await container.privateCloudDatabase.record(for: user)
        #expect(again["theme"] as? String == "dark")
    }
}
