import Foundation
import StratusRecords
import StratusService
import StratusStorage
import StratusWire
import TestProcesses
import Testing

/// Accounts with passwords, sign-up, sign-in and sessions.
@Suite struct ServiceSignInTests: SignInFixture {
    @Test(arguments: Backend.allCases)
    func accountIsCreatedOnceAndSignsInByPassword(_ backend: Backend) async throws {
        let world = world(try backend.storage())
        let place = try await place(world)
        let first = try await world.service.signIn(form(), isNew: true, at: place)
        let again = try await world.service.signIn(
            form(" Ida@Example.ORG "), isNew: false, at: place)
        #expect(again.userRecordName == first.userRecordName)
        #expect(again.session != first.session)
        let caller = try await caller(world, again.webAuthToken)
        #expect(caller.identity.userRecordName == first.userRecordName)
        let taken = try await refusal(world, form("IDA@example.org", "another one"), isNew: true)
        #expect(taken?.code == .taken)
        let user = try await world.service.accounts.user("ida@example.org")
        #expect(user.passwordHash?.hasPrefix("$scrypt$ln=1,r=1,p=1$") == true)
        #expect(user.passwordHash?.contains("correct") == false)
        #expect(user.givenName == "Ida" && !user.isEmailVerified)
    }

    @Test func unknownAccountReturnsWrongPasswordError() async throws {
        let world = world()
        #expect(try await refusal(world, form(), isNew: true) == nil)
        let wrong = try await refusal(world, form("ida@example.org", "wrong password"))
        let unknown = try await refusal(world, form("nobody@example.org", "wrong password"))
        let none = try await refusal(world, form("no address", "wrong password"))
        #expect(wrong?.code == .wrong)
        #expect(unknown == wrong && none == wrong)
        // A user of --dev or of an identity provider has no password.
        _ = try await world.service.signInForDevelopment(user: "dev@example.org")
        #expect(try await refusal(world, form("dev@example.org", "")) == wrong)
    }

    @Test func invalidSignUpInputIsRefused() async throws {
        let world = world()
        for address in [
            "", "@", "ida", "ida@", "@example.org", "a@b@c", "i da@example.org", "ida@.org",
            "ida@example.org.", "ída@example.org", "ida@example.org\n", "<ida@example.org>",
            String(repeating: "a", count: 65) + "@example.org",
            "a@" + String(repeating: "b", count: 260),
        ] {
            let refusal = try await refusal(world, form(address), isNew: true)
            #expect(refusal?.code == .badInput, "\(address)")
        }
        for password in ["", "1234567", String(repeating: "x", count: 257)] {
            let refusal = try await refusal(
                world, form("ida@example.org", password, from: password), isNew: true)
            #expect(refusal?.code == .badInput)
        }
        let long = SignInForm(
            emailAddress: "ida@example.org", password: "correct horse",
            givenName: String(repeating: "x", count: 101), networkAddress: "192.0.2.7")
        #expect(try await refusal(world, long, isNew: true)?.code == .badInput)
    }

    @Test func closedSignUpCreatesNoAccount() async throws {
        let world = world(signUp: .closed)
        #expect(try await !place(world).isSignUpOpen)
        #expect(try await refusal(world, form(), isNew: true)?.code == .closed)
        _ = try await world.service.accounts.createUser(
            emailAddress: "ida@example.org", password: "correct horse", givenName: "",
            familyName: "", isEmailVerified: true)
        #expect(try await refusal(world, form()) == nil)
    }

    @Test func webAuthTokenIsValidForItsContainerOnly() async throws {
        let world = world()
        let signIn = try await world.service.signIn(
            form(), isNew: true, at: try await place(world))
        var other = world.address
        other.container += "2"
        var production = world.address
        production.environment = .production
        for address in [other, production] {
            await #expect(throws: RequestFailure.self) {
                try await caller(world, signIn.webAuthToken, at: address)
            }
        }
        _ = try await caller(world, signIn.webAuthToken)
    }

    /// The default session, and one of a user who stays signed in.
    private func sessions(
        _ world: World
    ) async throws -> (short: Accounts.SignIn, long: Accounts.SignIn) {
        let place = try await place(world)
        let short = try await world.service.signIn(form(), isNew: true, at: place)
        var stays = form()
        stays.staysSignedIn = true
        return (short, try await world.service.signIn(stays, isNew: false, at: place))
    }

    @Test func sessionLastsHalfAnHourOrTwoWeeks() async throws {
        let world = world()
        let (short, long) = try await sessions(world)
        world.advance(seconds: 30 * 60 - 1)
        _ = try await caller(world, short.webAuthToken)
        world.advance(seconds: 1)
        await #expect(throws: RequestFailure.self) {
            try await caller(world, short.webAuthToken)
        }
        world.advance(seconds: 14 * 24 * 3600 - 30 * 60 - 1)
        _ = try await caller(world, long.webAuthToken)
        world.advance(seconds: 1)
        await #expect(throws: RequestFailure.self) {
            try await caller(world, long.webAuthToken)
        }
    }

    @Test func signInRequestExpiresAfterAnHour() async throws {
        let world = world()
        let request = try await Self.request(world, origin: "https://app.example.org")
        let place = try await world.service.signInPlace(request)
        #expect(place.app == World.container)
        #expect(place.openerOrigins == ["https://app.example.org"])
        for text in ["", "x", String(request.dropLast()), request + "A"] {
            await #expect(throws: SignInRefusal.expired) {
                try await world.service.signInPlace(text)
            }
        }
        world.advance(seconds: 15 * 60)
        _ = try await world.service.signInPlace(request)
        world.advance(seconds: 46 * 60)
        await #expect(throws: SignInRefusal.expired) {
            try await world.service.signInPlace(request)
        }
    }

    @Test func apiTokenDeterminesOriginsAndCallback() async throws {
        let world = world()
        let token = try await world.service.accounts.createAPIToken(
            for: world.address, name: "web", allowedOrigins: ["https://trails.example.org"],
            callbackURL: "https://trails.example.org/signed-in")
        let request = try await Self.request(world, apiToken: token)
        let place = try await world.service.signInPlace(request)
        #expect(place.openerOrigins == ["https://trails.example.org"])
        #expect(place.callback == CallbackAddress("https://trails.example.org/signed-in"))
        try await world.service.accounts.revokeAPIToken(token)
        await #expect(throws: SignInRefusal.expired) {
            try await world.service.signInPlace(request)
        }
    }

    @Test func formTokenRequiresItsCookie() async throws {
        let world = world()
        let service = world.service
        let (token, secret) = try await service.formToken(secret: nil)
        let (other, otherSecret) = try await service.formToken(secret: nil)
        #expect(secret != otherSecret)
        #expect(try await service.isOurs(formToken: token, secret: secret))
        #expect(try await !service.isOurs(formToken: token, secret: nil))
        #expect(try await !service.isOurs(formToken: token, secret: otherSecret))
        #expect(try await !service.isOurs(formToken: other, secret: secret))
        #expect(try await !service.isOurs(formToken: secret, secret: secret))
        #expect(try await service.formToken(secret: secret).secret == secret)
        world.advance(seconds: 3_601)
        #expect(try await !service.isOurs(formToken: token, secret: secret))
    }

    @Test func signOutEndsSessionAndReturnsNoToken() async throws {
        let world = world()
        let alice = try await world.person("alice")
        let out = try await world.service.respond(
            to: UsersSignOut.self, .init(),
            from: Credentials(apiToken: "development", webAuthToken: alice.token),
            at: world.address, scope: .public)
        #expect(out.rotatedWebAuthToken == nil)
        let refusal = await alice.refusal(ZonesList.self, .init())
        #expect(refusal?.error.code == .authenticationRequired)
        try await world.service.signOut(webAuthToken: alice.token ?? "")
        try await world.service.signOut(webAuthToken: "none of ours")
    }

    @Test func disabledAccountIsRefused() async throws {
        let world = world()
        let place = try await place(world)
        let signIn = try await world.service.signIn(form(), isNew: true, at: place)
        try await world.service.accounts.setDisabled(true, "ida@example.org")
        do {
            _ = try await caller(world, signIn.webAuthToken)
            Issue.record("A disabled account was served.")
        } catch let failure as RequestFailure {
            #expect(failure.error.code == .accessDenied)
            #expect(failure.error.frameworkCode == .managedAccountRestricted)
        }
        #expect(try await refusal(world, form())?.code == .disabled)
        #expect(try await refusal(world, form("ida@example.org", "wrong one"))?.code == .wrong)
        try await world.service.accounts.setDisabled(false, signIn.userRecordName)
        _ = try await caller(world, signIn.webAuthToken)
    }

    @Test func newPasswordEndsSessions() async throws {
        let world = world()
        let signIn = try await world.service.signIn(
            form(), isNew: true, at: try await place(world))
        try await world.service.accounts.setPassword("another horse", "ida@example.org")
        await #expect(throws: RequestFailure.self) {
            try await caller(world, signIn.webAuthToken)
        }
        #expect(try await refusal(world, form())?.code == .wrong)
        #expect(try await refusal(world, form("ida@example.org", "another horse")) == nil)
        await #expect(throws: ServiceError.self) {
            let dev = try await world.person("dev")
            try await world.service.accounts.setPassword("another horse", dev.name)
        }
    }

    @Test func deletedAccountFreesItsEmailAddress() async throws {
        let world = world()
        let signIn = try await world.service.signIn(
            form(), isNew: true, at: try await place(world))
        _ = try await world.service.accounts.deleteUser("ida@example.org")
        await #expect(throws: RequestFailure.self) {
            try await caller(world, signIn.webAuthToken)
        }
        let anew = try await world.service.signIn(
            form(), isNew: true, at: try await place(world))
        #expect(anew.userRecordName != signIn.userRecordName)
    }

    @Test func expiredSessionsAreRemoved() async throws {
        let world = world()
        let (short, long) = try await sessions(world)
        world.advance(seconds: 40 * 60)
        _ = try await world.service.signIn(form(), isNew: false, at: try await place(world))
        let directory = world.service.storage.directory
        #expect(try await directory.session(short.session) == nil)
        #expect(try await directory.session(long.session) != nil)
        // A session in use does not expire.
        var token = long.webAuthToken
        for _ in 0..<4 {
            world.advance(seconds: 7 * 24 * 3600)
            token =
                try await world.service.respond(
                    to: UsersCaller.self, .init(),
                    from: Credentials(apiToken: "development", webAuthToken: token),
                    at: world.address, scope: .public
                ).rotatedWebAuthToken ?? ""
            _ = try await world.person("somebody")
        }
        #expect(try await directory.session(long.session) != nil)
    }

    @Test func tokenRevokedByCommandIsRefusedWithinASecond() async throws {
        let folder = try RunFolder.newFolder()
        let world = World(try SQLiteStorageEngine(folder: folder), isForDevelopment: false)
        let token = try await world.service.accounts.createAPIToken(
            for: world.address, name: "app")
        func isTaken() async -> Bool {
            do {
                _ = try await world.service.respond(
                    to: ZonesList.self, .init(), from: Credentials(apiToken: token),
                    at: world.address, scope: .public)
                return true
            } catch {
                return false
            }
        }
        #expect(await isTaken())
        let command = try SQLiteStorageEngine(folder: folder, access: .beside)
        let commandService = CloudService(
            storage: command, settings: ServiceSettings(isForDevelopment: false))
        try await commandService.accounts.revokeAPIToken(token)
        try await command.close()
        world.advance(seconds: 1)
        #expect(await !isTaken())
    }

    @Test func emailAddressIsVerifiedByOperatorOnly() async throws {
        for trusts in [false, true] {
            let world = world(trusts: trusts)
            _ = try await world.service.signIn(form(), isNew: true, at: try await place(world))
            let user = try await world.service.accounts.user("ida@example.org")
            #expect(user.isEmailVerified == trusts)
        }
        let world = world()
        _ = try await world.service.signIn(form(), isNew: true, at: try await place(world))
        try await world.service.accounts.setEmailVerified(true, "ida@example.org")
        #expect(try await world.service.accounts.user("ida@example.org").isEmailVerified)
    }
}
