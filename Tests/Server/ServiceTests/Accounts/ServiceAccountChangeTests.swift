import GRDB
import StratusRecords
import StratusWire
import Synchronization
import Testing

@testable import StratusService
@testable import StratusStorage

/// Two changes to one account, of which the second one comes between the first one's read and its write; and changes
/// during which the service ends.
@Suite struct ServiceAccountChangeTests {
    private let inner = SQLiteStorageEngine.inMemory(world: .seeded(7))

    /// The account after a change, with another one before the first write.
    private func account(
        after change: (Accounts, String) async throws -> Void,
        with other: @escaping @Sendable (Accounts, String) async throws -> Void
    ) async throws -> UserRow {
        let database = WatchedDatabase(inner.placement.directory)
        let (accounts, name) = try await account(in: database)
        database.beforeNextWrite { try await other(accounts, name) }
        try await change(accounts, name)
        return try await accounts.user(name)
    }

    /// The sessions and push tokens after a change, during which the service ends after the first write.
    private func remaining(
        after change: (Accounts, String) async throws -> Void
    ) async throws -> (sessions: [String], pushTokens: [String]) {
        let database = WatchedDatabase(inner.placement.directory)
        let (accounts, name) = try await account(in: database)
        try await inner.directory.put(
            SessionRow(
                identifier: "phone", userRecordName: name, staysSignedIn: true,
                createdMilliseconds: 1, address: nil))
        let address = ContainerAddress(container: World.container, environment: .development)
        try await inner.directory.put(
            DeviceRow(
                pushToken: "token", address: address, userRecordName: name, clientID: "phone",
                lastUsedMilliseconds: 1, isRegistered: true))
        database.beforeNextWrite {
            database.beforeNextWrite { throw StorageError(.closed, "The process is gone.") }
        }
        do {
            try await change(accounts, name)
        } catch is StorageError {
            // The change needed a second write.
        }
        return (
            try await inner.directory.sessions(of: name).map(\.identifier),
            try await inner.directory.devices(of: name, in: address).map(\.pushToken)
        )
    }

    private func account(in database: WatchedDatabase) async throws -> (Accounts, String) {
        try await account(at: world(of: database))
    }

    private func world(of database: WatchedDatabase) -> World {
        World(
            DirectoryStorage(inner: inner, database: database),
            accounts: AccountSettings(passwordCost: .cheap))
    }

    private func account(at world: World) async throws -> (Accounts, String) {
        let accounts = world.service.accounts
        let user = try await accounts.createUser(
            emailAddress: "ida@example.org", password: "correct horse", givenName: "",
            familyName: "", isEmailVerified: true)
        return (accounts, user.recordName)
    }

    @Test func newPasswordLeavesTheAccountDisabled() async throws {
        let user = try await account {
            try await $0.setPassword("another horse", $1)
        } with: {
            try await $0.setDisabled(true, $1)
        }
        #expect(user.isDisabled)
        let hash = try #require(user.passwordHash.flatMap(PasswordHash.init(text:)))
        #expect(try hash.matches("another horse"))
    }

    @Test func verificationLeavesTheAccountBeingDeleted() async throws {
        let user = try await account {
            try await $0.setEmailVerified(false, $1)
        } with: {
            try await $0.beginRemoval(of: $1)
        }
        #expect(user.isBeingRemoved && user.isDisabled && !user.isEmailVerified)
    }

    @Test func accountWhoseDeletionBeginsIsNotEnabled() async throws {
        let user = try await account { accounts, name in
            let refusal = await #expect(throws: ServiceError.self) {
                try await accounts.setDisabled(false, name)
            }
            #expect(refusal == ServiceError.removalUnderWay)
        } with: {
            try await $0.beginRemoval(of: $1)
        }
        #expect(user.isBeingRemoved && user.isDisabled)
    }

    @Test func newPasswordEndsSessionsInTheSameTransaction() async throws {
        let left = try await remaining { try await $0.setPassword("another horse", $1) }
        #expect(left.sessions.isEmpty)
    }

    /// Everyone who has the address of a long poll is notified, such as the thief of a phone.
    @Test func newPasswordDeletesPushTokensInTheSameTransaction() async throws {
        let left = try await remaining { try await $0.setPassword("another horse", $1) }
        #expect(left.pushTokens.isEmpty)
    }

    /// A poll has found the push token, and notes its use after the change.
    @Test func pollDuringTheChangeDoesNotRestoreThePushToken() async throws {
        let database = WatchedDatabase(inner.placement.directory)
        let world = world(of: database)
        let (accounts, name) = try await account(at: world)
        let lifetime = Int64(Limits().pushTokenSeconds * 1_000)
        try await inner.directory.put(
            DeviceRow(
                pushToken: "token", address: world.address, userRecordName: name,
                clientID: "phone", lastUsedMilliseconds: world.nowMilliseconds - lifetime / 2,
                isRegistered: true))
        let hasChanged = Mutex(false)
        database.beforeNextWrite {
            try await accounts.setPassword("another horse", name)
            hasChanged.withLock { $0 = true }
        }
        _ = try await world.service.nextNotification(pushToken: "token", timeoutSeconds: 0)
        #expect(hasChanged.withLock { $0 })
        #expect(try await inner.directory.device(pushToken: "token") == nil)
    }

    /// A request of a session that the change ends was admitted before it.
    @Test(arguments: [true, false])
    func requestDuringTheChangeStoresNoPushToken(createsToken: Bool) async throws {
        let database = WatchedDatabase(inner.placement.directory)
        let world = world(of: database)
        let (accounts, name) = try await account(at: world)
        let phone = try await world.person("ida@example.org")
        let token = try await phone.listen()
        database.beforeNextWrite { try await accounts.setPassword("another horse", name) }
        let failure =
            if createsToken {
                await phone.refusal(
                    TokensCreate.self, .init(apnsEnvironment: "development"), in: nil)
            } else {
                await phone.refusal(
                    TokensRegister.self,
                    .init(apnsEnvironment: "development", apnsToken: token), in: nil)
            }
        #expect(failure?.error.code == .authenticationRequired)
        #expect(try await inner.directory.devices(of: name, in: world.address).isEmpty)
    }

    /// The former password was checked before the change, and its session would begin after it.
    @Test func signInWithTheFormerPasswordIsRefusedAfterTheChange() async throws {
        let database = WatchedDatabase(inner.placement.directory)
        let (accounts, name) = try await account(in: database)
        let user = try await accounts.user(
            signingIn: SignInForm(
                emailAddress: "ida@example.org", password: "correct horse",
                networkAddress: "10.0.0.1"))
        database.beforeNextWrite { try await accounts.setPassword("another horse", name) }
        let refusal = await #expect(throws: SignInRefusal.self) {
            try await accounts.createSession(
                for: name, staysSignedIn: true, at: nil, passwordHash: user.passwordHash,
                signer: TokenSigner(key: [1]))
        }
        #expect(refusal == SignInRefusal.wrong)
        #expect(try await inner.directory.sessions(of: name).isEmpty)
    }

    @Test func deletionEndsSessionsInTheSameTransaction() async throws {
        let left = try await remaining { try await $0.beginRemoval(of: $1) }
        #expect(left.sessions.isEmpty && left.pushTokens.isEmpty)
    }
}

/// The directory's database, with code that runs before a write.
private final class WatchedDatabase: OpenDatabase {
    private let inner: any OpenDatabase
    private let work = Mutex<(@Sendable () async throws -> Void)?>(nil)

    init(_ inner: any OpenDatabase) {
        self.inner = inner
    }

    func beforeNextWrite(_ body: @escaping @Sendable () async throws -> Void) {
        work.withLock { $0 = body }
    }

    var path: String { inner.path }
    var epoch: EpochPlace { inner.epoch }

    func read<Outcome: Sendable>(
        _ length: ReadLength, _ body: @escaping @Sendable (Database) throws -> Outcome
    ) async throws -> Outcome {
        try await inner.read(length, body)
    }

    func write<Outcome: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> Outcome
    ) async throws -> Outcome {
        let other = work.withLock { work in
            let other = work
            work = nil
            return other
        }
        try await other?()
        return try await inner.write(body)
    }

    func close() throws { try inner.close() }
}

/// A storage engine whose directory is in a database of the test's.
private struct DirectoryStorage: StorageEngine {
    let inner: SQLiteStorageEngine
    let database: WatchedDatabase

    var directory: any Directory { SQLiteDirectory(database: database) }

    func store(for address: DatabaseAddress) async throws -> any RecordStore {
        try await inner.store(for: address)
    }

    func blobs(for address: DatabaseAddress) async throws -> any BlobStore {
        try await inner.blobs(for: address)
    }

    func databasesWithBlobs() async throws -> [DatabaseAddress] {
        try await inner.databasesWithBlobs()
    }

    func databases() async throws -> [DatabaseAddress] { try await inner.databases() }
    func close() async throws { try await inner.close() }
}
