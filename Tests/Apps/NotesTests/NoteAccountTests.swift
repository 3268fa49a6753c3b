import CloudKit
import NotesCore
import StratusTesting
import StratusWire
import Testing

/// Which user is signed in on a device, and whose note it shows.
@Suite(.timeLimit(.minutes(20)))
struct NoteAccountTests {
    @Test func signOutRemovesAndSignInRestores() async throws {
        let world = try NotesWorld()
        let phone = try await world.open("phone")
        try await phone.save("Alice's own")
        #expect(try await phone.app.prepareSignOut(anyway: false))
        try await phone.container.signOut()
        await phone.app.accountChanged()
        #expect(await phone.text.isEmpty)
        #expect(
            await phone.status.lines == ["No user is signed in: the note stays on this device."])
        #expect(try !String(decoding: phone.bytes(), as: UTF8.self).contains("Alice"))
        try await world.cloud.signIn("bob", on: phone.container.connection)
        await phone.app.accountChanged()
        #expect(await phone.text.isEmpty)
        try await phone.save("Bob's own")
        // From one account to the other, without a sign-out between.
        try await world.cloud.signIn("alice", on: phone.container.connection)
        await phone.app.accountChanged()
        #expect(await phone.text == "Alice's own")
        #expect(try !String(decoding: phone.bytes(), as: UTF8.self).contains("Bob's own"))
        #expect(try await world.open("bobs", user: "bob").text == "Bob's own")
    }

    /// The account-change notification is enough.
    @Test func accountChangeNotificationSwitchesTheNote() async throws {
        let world = try NotesWorld()
        let phone = try await world.open("phone")
        try await phone.save("Alice's own")
        try phone.container.connection.signOut()
        await phone.wait { $0 == .textChanged("") }
        try await world.cloud.signIn("alice", on: phone.container.connection)
        await phone.wait { $0 == .textChanged("Alice's own") }
    }

    @Test func unsentNoteWaitsForItsUser() async throws {
        let world = try NotesWorld()
        let phone = try await world.open("phone")
        try await phone.save("sent")
        world.cloud.faults.next(of: RecordsModify.self, .dropConnectionBeforeCommit)
        world.clock.advance(bySeconds: 1)
        try await phone.app.type("not sent")
        #expect(try await !phone.app.prepareSignOut(anyway: false))
        #expect(await phone.text == "not sent")
        // Signing out elsewhere ends the session anyway.
        await phone.app.setOffline(true)
        await phone.app.setOffline(false)
        try await phone.app.type("not sent either")
        try phone.container.connection.signOut()
        await phone.wait { $0 == .textChanged("") }
        try await world.cloud.signIn("bob", on: phone.container.connection)
        await phone.app.accountChanged()
        #expect(await phone.text.isEmpty)
        try await world.cloud.signIn("alice", on: phone.container.connection)
        await phone.app.accountChanged()
        #expect(await phone.text == "not sent either")
        #expect(try await world.open("tablet").text == "not sent either")
    }

    @Test func forcedSignOutDiscardsUnsentText() async throws {
        let world = try NotesWorld()
        let phone = try await world.open("phone")
        try await phone.save("sent")
        await phone.app.setOffline(true)
        try await phone.app.type("not sent")
        #expect(try await !phone.app.prepareSignOut(anyway: false))
        #expect(try await phone.app.prepareSignOut(anyway: true))
        #expect(try !String(decoding: phone.bytes(), as: UTF8.self).contains("sent"))
    }

    /// Text that is typed while a sign-out is prepared is kept, or refused: it is never accepted and then removed.
    @Test func noteEndsOnlyWithoutUnsentText() async throws {
        let world = try NotesWorld()
        let phone = try await world.open("phone")
        let note = try CloudKitNote(
            database: CloudKitNoteDatabase(container: phone.container),
            file: NoteFile(folder: world.folder.path, owner: "alice"), world: world.clock.world)
        try await note.edit("not sent")
        #expect(await !note.retire(keepingUnsaved: true))
        try await note.edit("typed meanwhile")
        try await note.save()
        #expect(await note.retire(keepingUnsaved: true))
        await #expect(throws: CloudKitNoteError.self) { try await note.edit("too late") }
        #expect(await !note.copy.isUnsaved)
        #expect(await note.copy.text == "typed meanwhile")
    }

    /// Another program may sign the user in: the app finds the user at the next start.
    @Test func noteTypedBeforeSignInIsAdoptedAtTheNextStart() async throws {
        let world = try NotesWorld()
        let before = try await world.open("phone", user: nil)
        try await before.app.type("typed before")
        await before.app.close()
        let container = try await world.cloud.container(
            NotesWorld.container, user: "alice", device: "phone")
        let user = try await container.userRecordID().recordName
        let phone = try await world.open("phone", container, owner: user, isStarted: false)
        #expect(await phone.text == "typed before")
        await phone.app.start()
        #expect(try await world.open("tablet").text == "typed before")
    }

    /// The user has used the device before, and someone typed on it without an account since then.
    @Test func sentNoteIsKeptBesideALaterOneWithoutAnAccount() async throws {
        let world = try NotesWorld()
        let container = try await world.cloud.container(
            NotesWorld.container, user: "alice", device: "phone")
        let user = try await container.userRecordID().recordName
        let phone = try await world.open("phone", container, owner: user)
        try await phone.save("Alice's own")
        await phone.app.close()
        let nobody = try await world.open("phone", user: nil)
        try await nobody.app.type("typed without an account")
        await nobody.app.close()
        let again = try await world.open("phone", container, owner: user)
        #expect(await again.text == "typed without an account")
        #expect(await again.app.copy.overruled == "Alice's own")
    }

    /// The app works before a user signs in, and the typed text becomes the user's.
    @Test func noteTypedBeforeSignInIsAdopted() async throws {
        let world = try NotesWorld()
        let tablet = try await world.open("tablet")
        try await tablet.save("older, in the cloud")
        world.clock.advance(bySeconds: 10)
        let phone = try await world.open("phone", user: nil)
        #expect(await phone.status.availability == .noAccount)
        try await phone.app.type("typed before")
        let saves = world.count(RecordsModify.self)
        try await world.cloud.signIn("alice", on: phone.container.connection)
        await phone.app.accountChanged()
        // The app first asks whether there is a note, so no save causes a conflict.
        #expect(saves.end() == 1)
        #expect(await phone.text == "typed before")
        #expect(await phone.status.lines == ["In the cloud."])
        #expect(await phone.app.copy.overruled == "older, in the cloud")
        await tablet.app.sync()
        #expect(await tablet.text == "typed before")
        try phone.container.connection.signOut()
        await phone.app.accountChanged()
        #expect(await phone.text.isEmpty)
    }

    /// While the new user is unknown because the service cannot be reached, the former user's note is not shown.
    @Test func unknownUserSeesNothing() async throws {
        let world = try NotesWorld()
        let phone = try await world.open("phone")
        try await phone.save("Alice's own")
        world.cloud.faults.nextRequests(2, .dropConnectionBeforeCommit)
        let session = try await world.cloud.service.signInForDevelopment(user: "bob")
        try phone.container.connection.signIn(webAuthToken: session.webAuthToken)
        await phone.wait { $0 == .textChanged("") }
        world.cloud.faults.clear()
        await phone.app.sync()
        #expect(await phone.status.availability == .available)
        #expect(await phone.text.isEmpty)
    }

    @Test func eachAccountStateHasItsSentence() async throws {
        let world = try NotesWorld()
        func availability(_ device: NoteDevice) async -> String {
            await device.status.availabilitySentence
        }
        let nobody = try await world.open("nobody", user: nil)
        #expect(await availability(nobody).hasPrefix("No user is signed in"))
        let phone = try await world.open("phone")
        #expect(await availability(phone).hasPrefix("Signed in"))
        try await world.cloud.service.accounts.setDisabled(true, "alice")
        await phone.app.accountChanged()
        #expect(await availability(phone).contains("may not use the service"))
        try await phone.app.type("kept here")
        #expect(await phone.text == "kept here")
        try await world.cloud.service.accounts.setDisabled(false, "alice")
        try phone.container.connection.signIn(webAuthToken: "of yesterday")
        await phone.app.accountChanged()
        #expect(await availability(phone).contains("sign in again"))
        let lost = try await world.open(
            "lost",
            CKContainer(
                identifier: NotesWorld.container,
                connection: CloudConnection(environmentVariables: ["STRATUS_DEV_USER": "alice"])))
        #expect(await availability(lost).contains("not known yet"))
        #expect(await lost.status.error?.contains("STRATUS_URL") == true)
        var sentences: Set<String> = []
        for state in [
            CKAccountStatus.available, .noAccount, .restricted, .temporarilyUnavailable,
            .couldNotDetermine,
        ] {
            var status = NoteStatus()
            status.availability = state
            sentences.insert(status.availabilitySentence)
        }
        #expect(sentences.count == 5)
    }
}
