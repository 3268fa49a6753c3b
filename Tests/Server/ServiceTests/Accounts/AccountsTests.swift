import StratusRecords
import StratusService
import StratusStorage
import StratusWire
import Synchronization
import Testing

/// Which callers may send requests.
@Suite struct AccountsTests {
    private func answer(
        _ service: CloudService, _ credentials: Credentials, at address: ContainerAddress,
        in scope: DatabaseScope = .private
    ) async -> Result<ServedAnswer<ZonesList.Answer>, RequestFailure> {
        do {
            return .success(
                try await service.respond(
                    to: ZonesList.self, .init(), from: credentials, at: address, scope: scope))
        } catch {
            return .failure(error)
        }
    }

    private func code(_ result: Result<ServedAnswer<ZonesList.Answer>, RequestFailure>)
        -> ServiceError.Code?
    {
        if case .failure(let failure) = result { failure.error.code } else { nil }
    }

    /// An identity token can be exchanged again and again, and each time a session begins.
    @Test func usersLeastRecentlyUsedSessionsEnd() async throws {
        let world = World()
        let bob = try await world.person("bob")
        let first = try await world.person("alice")
        _ = try await first.ask(ZonesList.self, .init())
        world.advance(seconds: 1)
        let second = try await world.person("alice")
        world.advance(seconds: 1)
        for _ in 3...1_001 { _ = try await world.person("alice") }
        let refused = await first.refusal(ZonesList.self, .init())
        #expect(refused?.error.code == .authenticationRequired)
        for person in [second, bob] { _ = try await person.ask(ZonesList.self, .init()) }
        let sessions = try await second.ask(UsersSessions.self, .init(), in: .public).sessions
        #expect(sessions.count == 1_000)
    }

    /// A script that signs in for each of its requests must not sign out its owner's phone, which may be asleep.
    @Test func manySignInsDoNotEndSessionInUse() async throws {
        let world = World()
        let phone = try await world.person("alice")
        for _ in 0..<4 {
            world.advance(seconds: 600)
            _ = try await phone.ask(ZonesList.self, .init())
        }
        for _ in 0..<1_100 {
            world.advance(seconds: 1)
            _ = try await world.person("alice")
        }
        _ = try await phone.ask(ZonesList.self, .init())
        let sessions = try await phone.ask(UsersSessions.self, .init(), in: .public).sessions
        #expect(sessions.count == 1_000)
    }

    @Test func apiTokenIsValidForItsContainerOnly() async throws {
        let world = World(environment: .production, isForDevelopment: false)
        let service = world.service
        let token = try await service.accounts.createAPIToken(for: world.address, name: "app")
        #expect(token.utf8.count == 64)
        let good = Credentials(apiToken: token)
        #expect(code(await answer(service, good, at: world.address, in: .public)) == nil)
        var other = world.address
        other.environment = .development
        for (credentials, address) in [
            (good, other), (Credentials(apiToken: nil), world.address),
            (Credentials(apiToken: "development"), world.address),
            (Credentials(apiToken: String(token.reversed())), world.address),
        ] {
            let refused = await answer(service, credentials, at: address, in: .public)
            #expect(code(refused) == .authenticationFailed)
        }
        await #expect(throws: RequestFailure.self) {
            try await service.signInForDevelopment(user: "alice")
        }
    }

    @Test func anonymousCallerReadsPublicDatabaseOnly() async throws {
        let world = World()
        let nobody = world.nobody
        #expect(await nobody.refusal(ZonesList.self, .init(), in: .public) == nil)
        for scope in [DatabaseScope.private, .shared] {
            let refusal = await nobody.refusal(ZonesList.self, .init(), in: scope)
            #expect(refusal?.error.code == .authenticationRequired)
        }
        for refusal in [
            await nobody.refusal(UsersCaller.self, .init(), in: .public),
            await nobody.refusal(SubscriptionsList.self, .init(), in: .public),
            await nobody.refusal(
                TokensCreate.self, .init(apnsEnvironment: "development"), in: nil),
        ] {
            #expect(refusal?.error.code == .authenticationRequired)
            #expect(refusal?.error.code.httpStatus == 421)
        }
    }

    @Test func rotatedWebAuthTokenStaysValidUntilItExpires() async throws {
        let world = World()
        let signIn = try await world.service.signInForDevelopment(user: "alice")
        func ask(_ token: String?) async -> Result<ServedAnswer<ZonesList.Answer>, RequestFailure> {
            await answer(
                world.service, Credentials(apiToken: "development", webAuthToken: token),
                at: world.address)
        }
        world.advance(seconds: 60)
        let next = try await ask(signIn.webAuthToken).get().rotatedWebAuthToken
        #expect(next != nil && next != signIn.webAuthToken)
        #expect(code(await ask(signIn.webAuthToken)) == nil)
        world.advance(seconds: Limits().staySignedInSeconds - 30)
        #expect(code(await ask(signIn.webAuthToken)) == .authenticationRequired)
        #expect(code(await ask(next)) == nil)
        var forged = Array(signIn.webAuthToken)
        forged[10] = forged[10] == "A" ? "B" : "A"
        for token in ["", "x", String(forged), "54__7__kQ=="] {
            #expect(code(await ask(token)) == .authenticationRequired)
        }
    }

    @Test func endedSessionInvalidatesWebAuthToken() async throws {
        let world = World()
        let signIn = try await world.service.signInForDevelopment(user: "alice")
        let credentials = Credentials(
            apiToken: "development", webAuthToken: signIn.webAuthToken)
        #expect(code(await answer(world.service, credentials, at: world.address)) == nil)
        try await world.service.accounts.endSession(signIn.session)
        let refused = await answer(world.service, credentials, at: world.address)
        #expect(code(refused) == .authenticationRequired)
    }

    /// A folder is named after the container: a name that is too long must not look like a disk error.
    @Test func tooLongContainerNameIsRefused() async throws {
        let world = World(try Backend.sqlite.storage())
        let stopped = Mutex(false)
        world.service.onFatalStorageError { _ in stopped.withLock { $0 = true } }
        let signIn = try await world.service.signInForDevelopment(user: "alice")
        let credentials = Credentials(
            apiToken: "development", webAuthToken: signIn.webAuthToken)
        for (length, expected) in [
            (127, nil as ServiceError.Code?), (128, .badRequest), (255, .badRequest),
        ] {
            var address = world.address
            address.container = String(repeating: "A", count: length)
            #expect(code(await answer(world.service, credentials, at: address)) == expected)
        }
        #expect(!stopped.withLock { $0 })
    }

    /// The identifier is stored with every record.
    @Test func tooLongDeviceIdentifierIsRefused() async throws {
        let alice = try await World().person("alice")
        let long = String(repeating: "x", count: 256)
        let refusals = [
            await alice.at(long).refusal(ZonesList.self, .init()),
            await alice.refusal(
                TokensCreate.self, .init(apnsEnvironment: "development", clientID: long), in: nil),
            await alice.refusal(
                TokensRegister.self,
                .init(apnsEnvironment: "development", apnsToken: "x", clientID: long), in: nil),
        ]
        #expect(refusals.map { $0?.error.code } == [.badRequest, .badRequest, .badRequest])
        #expect(await alice.at(String(long.dropLast())).refusal(ZonesList.self, .init()) == nil)
    }

    @Test func signInNameDeterminesUserRecordName() async throws {
        let world = World()
        let alice = try await world.person("alice")
        #expect(try await world.person("alice").name == alice.name)
        #expect(try await world.person("bob").name != alice.name)
        #expect(alice.name.utf8.count == 33 && alice.name.hasPrefix("_"))
        let caller = try await alice.ask(UsersCaller.self, .init(), in: .public)
        #expect(caller.identity.userRecordName == alice.name)
        let current = try await alice.ask(UsersCurrent.self, .init(), in: .public)
        #expect(current.userRecordName == alice.name)
    }

    @Test func restartedServiceAcceptsItsTokens() async throws {
        let storage = try Backend.sqlite.storage()
        let alice = try await World(storage).person("alice", with: "Trips")
        let token = try await alice.page("Trips").syncToken
        let again = World(storage)
        let same = Person(world: again, name: alice.name, device: "phone", token: alice.token)
        #expect(try await same.page("Trips", since: token).records.isEmpty)
    }

    @Test func closedStorageReturnsTryAgainLater() async throws {
        let storage = SQLiteStorageEngine.inMemory()
        let alice = try await World(storage).person("alice")
        try await storage.close()
        let refusal = await alice.refusal(ZonesList.self, .init())
        #expect(refusal?.error.code == .tryAgainLater)
        #expect(refusal?.error.retryAfterSeconds != nil)
    }

    /// An error of one database, or a temporary one, does not stop the service; an error of the whole storage does.
    @Test(arguments: [
        (StorageError.Code.diskFull, false, StratusErrorCode.diskFull as StratusErrorCode?, false),
        (.assetDiskFull, false, .diskFull, false), (.corrupt, true, .databaseDamaged, false),
        (.unreadable, true, .databaseDamaged, false), (.corrupt, false, nil, true),
        (.notWritable, false, nil, true), (.busy, false, nil, false),
    ])
    func storageErrorHasCodeAndMayStopService(
        _ code: StorageError.Code, _ isOfOne: Bool, _ expected: StratusErrorCode?, _ stops: Bool
    ) async throws {
        var error = StorageError(code, "What is wrong, and what to do.")
        if isOfOne { error.database = DatabaseAddress(World().address, .public) }
        let failing = World(FailingStorage(error: error))
        let reported = Mutex<StorageError.Code?>(nil)
        failing.service.onFatalStorageError { error in reported.withLock { $0 = error.code } }
        let alice = try await failing.person("alice")
        let refusal = await alice.refusal(ZonesList.self, .init())
        #expect(refusal?.error.code == .tryAgainLater)
        #expect(refusal?.error.retryAfterSeconds != nil)
        #expect(refusal?.error.stratusCode == expected)
        #expect(reported.withLock { $0 } == (stops ? code : nil))
        #expect(failing.service.health.status == (stops ? .notReady : .ready))
    }
}

/// A storage engine that can open no database.
private struct FailingStorage: StorageEngine {
    let error: StorageError
    private let storage = SQLiteStorageEngine.inMemory()

    var directory: any Directory { storage.directory }

    func store(for address: DatabaseAddress) async throws -> any RecordStore {
        throw error
    }

    func blobs(for address: DatabaseAddress) async throws -> any BlobStore {
        try await storage.blobs(for: address)
    }

    func databasesWithBlobs() async throws -> [DatabaseAddress] { [] }

    func databases() async throws -> [DatabaseAddress] { [] }
    func close() async throws {}
}
