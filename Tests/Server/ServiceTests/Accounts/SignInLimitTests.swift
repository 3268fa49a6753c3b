import StratusRecords
import StratusService
import StratusTesting
import StratusWire
import Testing

/// How often passwords may be tried, by account and by address.
@Suite struct SignInLimitTests: SignInFixture {
    /// A world in which Ida has an account, whose password was guessed this many times from addresses that `address`
    /// gives.
    private func worldAfterGuesses(
        _ count: Int, from address: (Int) -> String
    ) async throws -> World {
        let world = world()
        #expect(try await refusal(world, form(), isNew: true) == nil)
        try await guess(count, at: world) {
            form("ida@example.org", "guess \($0)", from: address($0))
        }
        return world
    }

    /// Submits this many forms, all of which are wrong.
    private func guess(
        _ count: Int, at world: World, _ form: (Int) -> SignInForm
    ) async throws {
        for number in 0..<count {
            #expect(try await refusal(world, form(number))?.code == .wrong)
        }
    }

    @Test func passwordAttemptsAreLimitedPerAccount() async throws {
        // From many addresses: the limit is the account's.
        let world = try await worldAfterGuesses(30) { "203.0.113.\($0)" }
        let right = form("ida@example.org", "correct horse", from: "198.51.100.1")
        let refused = try await refusal(world, right)
        #expect(refused?.code == .tooMany)
        #expect((1...60).contains(refused?.retryAfterSeconds ?? 0))
        // From the address where the account was created, signing in is possible.
        #expect(try await refusal(world, form()) == nil)
        #expect(try await refusal(world, form("eva@example.org", "x"))?.code == .wrong)
        world.advance(seconds: 61)
        #expect(try await refusal(world, right) == nil)
        // Successful attempts do not use up the limit.
        for _ in 0..<20 { #expect(try await refusal(world, form(from: "203.0.113.9")) == nil) }
    }

    /// A world with an account that an operator created, and one sign-in to it.
    private func worldAfterSignIn() async throws -> World {
        let world = world()
        _ = try await world.service.accounts.createUser(
            emailAddress: "ida@example.org", password: "correct horse", givenName: "",
            familyName: "", isEmailVerified: true)
        #expect(try await refusal(world, form()) == nil)
        return world
    }

    /// Guesses from many addresses slow an account, but not at an address where the user has signed in before.
    @Test func attemptsAtAnAccountDoNotLimitItsKnownAddress() async throws {
        let world = try await worldAfterSignIn()
        try await guess(30, at: world) {
            form("ida@example.org", "guess \($0)", from: "203.0.113.\($0)")
        }
        let elsewhere = form(from: "198.51.100.1")
        #expect(try await refusal(world, elsewhere)?.code == .tooMany)
        #expect(try await refusal(world, form()) == nil)
    }

    /// The same for guesses at other accounts from the address where the user has signed in.
    @Test func attemptsFromAnAddressDoNotLimitItsKnownUser() async throws {
        let world = try await worldAfterSignIn()
        try await guess(60, at: world) { form("user\($0)@example.org", "password1") }
        let another = form("user61@example.org", "password1")
        #expect(try await refusal(world, another)?.code == .tooMany)
        #expect(try await refusal(world, form()) == nil)
    }

    /// Addresses where the user has signed in are limited too.
    @Test func attemptsFromAKnownAddressAreLimited() async throws {
        let world = try await worldAfterSignIn()
        try await guess(10, at: world) { form("ida@example.org", "guess \($0)") }
        #expect(try await refusal(world, form())?.code == .tooMany)
    }

    /// Guesses from one address slow that address at this account, and no other address.
    @Test func passwordAttemptsAreLimitedPerAccountAndAddress() async throws {
        let world = try await worldAfterGuesses(10) { _ in "192.0.2.66" }
        let next = form("ida@example.org", "correct horse", from: "192.0.2.66")
        #expect(try await refusal(world, next)?.code == .tooMany)
        let elsewhere = form("ida@example.org", "correct horse", from: "192.0.2.67")
        #expect(try await refusal(world, elsewhere) == nil)
    }

    /// Successful sign-ins from one address do not delay each other, however many there are.
    @Test func rightPasswordsAreNotCounted() async throws {
        let world = world()
        #expect(try await refusal(world, form(), isNew: true) == nil)
        for _ in 0..<200 {
            #expect(try await refusal(world, form(from: "192.0.2.77")) == nil)
        }
    }

    /// Otherwise a program that tries again while many sign in would have to wait like one that guesses.
    @Test func passwordsThatAreNotCheckedAreNotCounted() async throws {
        let world = World(
            limits: .with {
                $0.passwordsAtOnce = 0
                $0.waitingPasswords = 0
            }, accounts: AccountSettings(passwordCost: .cheap))
        for _ in 0..<70 { #expect(try await refusal(world, form())?.code == .busy) }
    }

    @Test func signInAttemptsAreLimitedPerAddress() async throws {
        let world = world()
        try await guess(60, at: world) { form("user\($0)@example.org", "password1") }
        let next = try await refusal(world, form("user61@example.org", "password1"))
        #expect(next?.code == .tooMany && next?.httpStatus == 429)
        let elsewhere = form("user62@example.org", "password1", from: "192.0.2.2")
        #expect(try await refusal(world, elsewhere)?.code == .wrong)
    }
}
