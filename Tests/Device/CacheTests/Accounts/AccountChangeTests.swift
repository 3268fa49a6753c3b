import Foundation
import StratusClient
import StratusTesting
import Testing

@testable import StratusCache

/// A process may contain several devices, each with its own account.
@Suite(.timeLimit(.minutes(20))) struct AccountChangeTests {
    @Test func accountChangeIsReceivedByItsOwnConnectionOnly() async throws {
        let cloud = TestCloud()
        let phone = try await cloud.connect(user: "alice", device: "phone")
        let tablet = try await cloud.connect(user: "bob", device: "tablet")
        let database = CloudKitDatabase(
            database: CKContainer(identifier: CloudDevice.container, connection: phone)
                .privateCloudDatabase)
        let changes = database.accountChanges()
        NotificationCenter.default.post(name: .CKAccountChanged, object: tablet)
        // A change that was received before is still delivered when the listener ends.
        let listener = Task {
            for await _ in changes { return true }
            return false
        }
        listener.cancel()
        #expect(await listener.value == false)
        let own = database.accountChanges()
        NotificationCenter.default.post(name: .CKAccountChanged, object: phone)
        var iterator = own.makeAsyncIterator()
        #expect(await iterator.next() != nil)
    }
}
