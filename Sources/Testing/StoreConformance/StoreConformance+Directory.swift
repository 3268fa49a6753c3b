import StratusRecords
import StratusStorage
import Synchronization

extension StoreConformance {
    static let directory: [Case] = [
        Case("the signing key stays the same") { storage in
            let key = try await storage.directory.signingKey()
            try expect(key.count, equals: 32)
            try expect(await storage.directory.signingKey(), equals: key)
        },

        Case("containers exist after they were created") { storage in
            let directory = storage.directory
            try expect(await directory.container(container), equals: false)
            try await directory.createContainer(container)
            try await directory.createContainer(container)
            try expect(await directory.container(container), equals: true)
            let other = ContainerAddress(
                container: container.container, environment: .production)
            try expect(await directory.container(other), equals: false)
        },

        Case("API tokens are stored and replaced") { storage in
            let directory = storage.directory
            var token = APITokenRow(token: "t", address: container, name: "one")
            try expect(await directory.apiToken("t"), equals: nil)
            try await directory.put(token)
            try expect(await directory.apiToken("t"), equals: token)
            token.name = "two"
            try await directory.put(token)
            try expect(await directory.apiToken("t"), equals: token)
        },

        Case("a name belongs to one user, even if many sign up at once") { storage in
            let directory = storage.directory
            let users = try await withThrowingTaskGroup(of: UserRow.self) { group in
                for number in 0..<20 {
                    group.addTask {
                        try await directory.insert(
                            UserRow(recordName: "_\(number)", name: "alice"))
                    }
                }
                return try await group.reduce(into: Set<UserRow>()) { $0.insert($1) }
            }
            try expect(users.count, equals: 1)
            let user = try unwrap(users.first)
            try expect(await directory.user(named: "alice"), equals: user)
            try expect(await directory.user(recordName: user.recordName), equals: user)
            try expect(await directory.user(named: "Alice"), equals: nil)
            try expect(await directory.user(recordName: "_none"), equals: nil)
            let bob = UserRow(recordName: "_bob", name: "bob")
            try expect(await directory.insert(bob), equals: bob)
        },

        Case("sessions are stored, replaced and deleted") { storage in
            let directory = storage.directory
            var session = SessionRow(
                identifier: "s", userRecordName: "_alice", staysSignedIn: true,
                createdMilliseconds: 5)
            try await directory.put(session)
            session.staysSignedIn = false
            try await directory.put(session)
            try expect(await directory.session("s"), equals: session)
            try await directory.deleteSession("s")
            try expect(await directory.session("s"), equals: nil)
        },

        Case("devices are found by user and container, least recently used first") { storage in
            let directory = storage.directory
            func device(_ token: String, _ user: String, used: Int64) -> DeviceRow {
                DeviceRow(
                    pushToken: token, address: container, userRecordName: user,
                    clientID: "client \(token)", lastUsedMilliseconds: used,
                    isRegistered: token == "b")
            }
            var elsewhere = device("d", "_alice", used: 1)
            elsewhere.address.environment = .production
            let rows = [
                device("a", "_alice", used: 9), device("b", "_alice", used: 3),
                device("c", "_bob", used: 1), elsewhere,
            ]
            for row in rows { try await directory.put(row) }
            try expect(
                await directory.devices(of: "_alice", in: container), equals: [rows[1], rows[0]])
            try expect(await directory.device(pushToken: "d"), equals: elsewhere)
            try await directory.put(device("b", "_alice", used: 10))
            try await directory.renewDevice(
                pushToken: "d", in: elsewhere.address, atMilliseconds: 8)
            elsewhere.lastUsedMilliseconds = 8
            try expect(await directory.device(pushToken: "d"), equals: elsewhere)
            try await directory.deleteDevice(pushToken: "d")
            try await directory.renewDevice(
                pushToken: "d", in: elsewhere.address, atMilliseconds: 9)
            try expect(await directory.device(pushToken: "d"), equals: nil)
            var twice = device("a", "_alice", used: 9)
            twice.address = ContainerAddress(container: "z", environment: .production)
            twice.channel = .apnsProduction
            try await directory.put(twice)
            try expect(
                await directory.devices(pushToken: "a"),
                equals: [device("a", "_alice", used: 9), twice])
            try await directory.deleteDevice(pushToken: "a", in: twice.address)
            try expect(
                await directory.devices(pushToken: "a"),
                equals: [device("a", "_alice", used: 9)])
            let left = try await directory.devices(of: "_alice", in: container)
            try expect(left.map(\.pushToken), equals: ["a", "b"])
        },

        Case("a device is stored only while its session lasts") { storage in
            let directory = storage.directory
            let device = DeviceRow(
                pushToken: "a", address: container, userRecordName: "_alice", clientID: "phone",
                lastUsedMilliseconds: 1, isRegistered: true)
            try expect(await directory.put(device, ofSession: "s"), equals: false)
            try expect(await directory.device(pushToken: "a"), equals: nil)
            try await directory.put(
                SessionRow(
                    identifier: "s", userRecordName: "_alice", staysSignedIn: false,
                    createdMilliseconds: 5))
            try expect(await directory.put(device, ofSession: "s"), equals: true)
            try expect(await directory.device(pushToken: "a"), equals: device)
        },
    ]
}

/// A flag that one task sets and another reads.
final class Flag: Sendable {
    private let raised = Mutex(false)
    var isSet: Bool { raised.withLock { $0 } }
    func set() { raised.withLock { $0 = true } }
}
