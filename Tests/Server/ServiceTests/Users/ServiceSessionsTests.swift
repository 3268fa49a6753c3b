import StratusRecords
import StratusService
import StratusStorage
import StratusWire
import Testing

/// Listing a user's sessions, and ending the others.
@Suite struct ServiceSessionsTests {
    private func world() -> World {
        World(SQLiteStorageEngine.inMemory(), accounts: AccountSettings(passwordCost: .cheap))
    }

    private func person(
        _ world: World, _ user: String, _ device: String
    ) async throws -> Person {
        let session = try await world.service.createSession(
            for: user, staysSignedIn: true, at: world.address)
        return Person(world: world, name: user, device: device, token: session.webAuthToken)
    }

    private func user(_ world: World, _ name: String) async throws -> String {
        try await world.service.accounts.createUser(
            emailAddress: "\(name)@example.org", password: "correct horse",
            givenName: name.capitalized, familyName: "Holm", isEmailVerified: true
        ).recordName
    }

    @Test func lostPhoneIsRevokedByAnotherDevice() async throws {
        let world = world()
        let ida = try await user(world, "ida")
        let phone = try await person(world, ida, "phone")
        let tablet = try await person(world, ida, "tablet")
        _ = try await phone.ask(ZonesList.self, .init())
        let before = try await tablet.ask(UsersSessions.self, .init(), in: .public).sessions
        #expect(Set(before.map(\.device)) == ["phone", "tablet"])
        #expect(before.filter(\.isCurrent).map(\.device) == ["tablet"])
        let lost = try #require(before.first { $0.device == "phone" })
        let after = try await tablet.ask(
            UsersSessions.self, .init(revoke: [lost.id]), in: .public)
        #expect(after.sessions.map(\.device) == ["tablet"])
        let refusal = await phone.refusal(ZonesList.self, .init())
        #expect(refusal?.error.code == .authenticationRequired)
        _ = try await tablet.ask(ZonesList.self, .init())
    }

    @Test func sessionsOfOtherUsersAreHiddenAndNotRevoked() async throws {
        let world = world()
        let ida = try await person(world, try await user(world, "ida"), "phone")
        let bo = try await person(world, try await user(world, "bo"), "tablet")
        let his = try await bo.ask(UsersSessions.self, .init(), in: .public).sessions
        let hers = try await ida.ask(
            UsersSessions.self, .init(revoke: his.map(\.id)), in: .public
        ).sessions
        #expect(hers.map(\.device) == ["phone"])
        _ = try await bo.ask(ZonesList.self, .init())
    }

    @Test func revokingTheOwnSessionIsRefused() async throws {
        let world = world()
        let ida = try await person(world, try await user(world, "ida"), "phone")
        let own = try await ida.ask(UsersSessions.self, .init(), in: .public).sessions
        let refusal = await ida.refusal(
            UsersSessions.self, .init(revoke: own.map(\.id)), in: .public)
        #expect(refusal?.error.code == .badRequest)
        _ = try await ida.ask(ZonesList.self, .init())
    }
}
