import StratusRecords
import StratusService
import StratusStorage
import StratusWire
import Testing

extension PasswordHash.Cost {
    /// So cheap that tests do not wait; never for real passwords.
    static let cheap = PasswordHash.Cost(logRounds: 1, blockSize: 1, parallelism: 1)
}

/// Forms and their answers, for suites of accounts with passwords.
protocol SignInFixture {}

extension SignInFixture {
    func world(
        signUp: AccountSettings.SignUp = .open, trusts: Bool = false,
        _ storage: any StorageEngine = SQLiteStorageEngine.inMemory()
    ) -> World {
        World(
            storage,
            accounts: AccountSettings(
                signUp: signUp, trustsEmailAddresses: trusts, passwordCost: .cheap))
    }

    /// The page to which a client without a web-auth token is sent.
    func place(_ world: World, origin: String? = nil) async throws -> SignInPlace {
        let text = try await Self.request(world, origin: origin)
        return try await world.service.signInPlace(text)
    }

    static func request(
        _ world: World, apiToken: String = "development", origin: String? = nil
    ) async throws -> String {
        let nobody = Credentials(apiToken: apiToken, origin: origin)
        let url = await Self.redirectURL(world, nobody)
        let path = try #require(url)
        #expect(path.hasPrefix("/auth/sign-in?request="))
        return String(path.dropFirst("/auth/sign-in?request=".count))
    }

    private static func redirectURL(_ world: World, _ nobody: Credentials) async -> String? {
        do {
            _ = try await world.service.respond(
                to: UsersCaller.self, .init(), from: nobody, at: world.address, scope: .public)
            return nil
        } catch {
            #expect(error.error.code == .authenticationRequired)
            return error.error.redirectURL
        }
    }

    func form(
        _ address: String = "ida@example.org", _ password: String = "correct horse",
        from network: String = "192.0.2.1"
    ) -> SignInForm {
        SignInForm(
            emailAddress: address, password: password, givenName: "Ida", familyName: "Holm",
            networkAddress: network)
    }

    func refusal(
        _ world: World, _ form: SignInForm, isNew: Bool = false
    ) async throws -> SignInRefusal? {
        let place = try await place(world)
        do {
            _ = try await world.service.signIn(form, isNew: isNew, at: place)
            return nil
        } catch let refusal as SignInRefusal {
            return refusal
        }
    }

    func caller(
        _ world: World, _ token: String, at address: ContainerAddress? = nil
    ) async throws -> UsersCaller.Answer {
        try await world.service.respond(
            to: UsersCaller.self, .init(),
            from: Credentials(apiToken: "development", webAuthToken: token),
            at: address ?? world.address, scope: .public
        ).answer
    }
}
