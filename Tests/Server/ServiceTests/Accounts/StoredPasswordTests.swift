import StratusService
import StratusStorage
import TestSeeds
import Testing

/// Passwords that an earlier build hashed.
@Suite struct StoredPasswordTests {
    @Test func passwordOpensTheAccount() async throws {
        let fixture = try StoredFormatFixture()
        let storage = try SQLiteStorageEngine(folder: fixture.dataFolder)
        let world = World(storage)
        let password = try fixture.fact("password")
        for (text, isRight) in [(password, true), (password + "!", false)] {
            let place = try await world.service.signInPlace(
                try await ServiceSignInTests.request(world))
            let form = SignInForm(
                emailAddress: "alice@example.org", password: text, networkAddress: "192.0.2.1")
            if isRight {
                let signedIn = try await world.service.signIn(form, isNew: false, at: place)
                #expect(try signedIn.userRecordName == fixture.fact("alice"))
            } else {
                await #expect(throws: SignInRefusal.self) {
                    try await world.service.signIn(form, isNew: false, at: place)
                }
            }
        }
        try await storage.close()
    }
}
