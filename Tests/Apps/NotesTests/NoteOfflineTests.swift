import AppDevice
import CloudKit
import NotesCore
import StratusTesting
import StratusWire
import Testing

/// The app without the service, and when the service refuses requests.
@Suite(.timeLimit(.minutes(20)))
struct NoteOfflineTests {
    @Test func offlineEditsAreSentOnceOnline() async throws {
        let world = try NotesWorld()
        let phone = try await world.open("phone")
        let alice = try await phone.container.userRecordID().recordName
        await phone.app.setOffline(true)
        #expect(await phone.status.lines == ["Offline: changes wait on this device."])
        try await phone.app.type("on the train")
        await phone.app.close()
        // Another process, still offline.
        let again = try await world.open("phone", owner: alice, isStarted: false)
        await again.app.setOffline(true)
        await again.app.start()
        #expect(await again.text == "on the train")
        await again.app.setOffline(false)
        #expect(await again.status.lines == ["In the cloud."])
        #expect(try await world.open("tablet").text == "on the train")
    }

    @Test func saveIsRetriedWhileTheServiceIsUnreachable() async throws {
        let world = try NotesWorld()
        let phone = try await world.openTyping(beforeFault: .dropConnectionBeforeCommit)
        // The typing timer fires; from here on only the retry is left.
        await phone.typingPauses()
        await phone.wait {
            if case .statusChanged(let status) = $0 {
                status.error != nil && status.step == .waiting
            } else {
                false
            }
        }
        #expect(
            await phone.status.lines == [
                "On this device, not in the cloud yet.",
                "The service cannot be reached: trying again by itself.",
            ])
        world.clock.advance(bySeconds: 60)
        await phone.until { $0 == .saved }
        #expect(await phone.status.error == nil)
        #expect(try await world.open("tablet").text == "two")
    }

    /// The service says how long the app should wait.
    @Test func retryWaitsForRetryAfter() async throws {
        let world = try NotesWorld()
        let phone = try await world.open("phone")
        world.cloud.faults.next(
            of: RecordsModify.self, .answer(.throttled, retryAfterSeconds: 300))
        try await phone.app.type("busy")
        await phone.app.sync()
        await world.clock.waitForSleeper(seconds: 300)
        #expect(await phone.status.step == .waiting)
        world.clock.advance(bySeconds: 300)
        await phone.until { $0 == .saved }
    }

    struct Refusal: Sendable {
        let effect: CloudFaults.Effect
        let words: String
    }

    private static let refusals = [
        Refusal(effect: .dropConnectionBeforeCommit, words: "cannot be reached"),
        Refusal(effect: .answer(.tryAgainLater), words: "is busy"),
        Refusal(effect: .answer(.zoneBusy), words: "is busy"),
        Refusal(effect: .answer(.throttled, retryAfterSeconds: 3), words: "is busy"),
        Refusal(effect: .answer(.quotaExceeded), words: "has no room left"),
        Refusal(effect: .answer(.accessDenied), words: "may not save or fetch"),
        Refusal(effect: .answer(.authenticationRequired), words: "sign in again"),
        Refusal(
            effect: .answer(.badRequest, frameworkCode: .limitExceeded), words: "make it shorter"),
        Refusal(
            effect: .answer(.badRequest, frameworkCode: .incompatibleVersion),
            words: "newer version of the app"),
        Refusal(effect: .answer(.internalError), words: "refuses this app"),
        Refusal(effect: .answer(.badRequest), words: "refuses this app"),
    ]

    @Test(arguments: refusals.indices)
    func eachErrorHasItsSentence(number: Int) async throws {
        let refusal = Self.refusals[number]
        let world = try NotesWorld()
        let phone = try await world.open("phone")
        try await phone.save("one")
        world.cloud.faults.next(of: RecordsModify.self, refusal.effect)
        try await phone.app.type("two")
        await phone.app.sync()
        let error = try #require(await phone.status.error)
        #expect(error.contains(refusal.words), "\(error)")
        #expect(await phone.text == "two")
        #expect(await phone.app.copy.isUnsaved)
        // Once the error is resolved, it is no longer shown.
        await phone.app.sync()
        #expect(await phone.status.lines == ["In the cloud."])
    }

    // MARK: The zone

    @Test func purgedZoneIsRecreatedByTheNextEdit() async throws {
        let world = try NotesWorld()
        let (phone, tablet) = (try await world.open("phone"), try await world.open("tablet"))
        try await phone.save("one")
        try await phone.subscribed()
        await tablet.app.sync()
        world.cloud.faults.resetZone("note-zone", reason: .purged)
        await tablet.app.sync()
        await tablet.app.sync()
        #expect(await tablet.text == "one")
        #expect(await tablet.status.wasRemoved)
        #expect(await tablet.status.stepSentence.contains("removed from the cloud"))
        // The phone was not notified.
        try await phone.save("two")
        #expect(await phone.app.copy.overruled == nil)
        await tablet.app.sync()
        #expect(await tablet.text == "two")
        #expect(await tablet.status.lines == ["In the cloud."])
    }

    @Test func deletedNoteIsRecreatedByTheNextEdit() async throws {
        let world = try NotesWorld()
        let phone = try await world.open("phone")
        try await phone.save("one")
        await phone.app.sync()
        _ = try await phone.container.privateCloudDatabase.deleteRecord(
            withID: CKRecord.ID(
                recordName: "note", zoneID: CKRecordZone(zoneName: "note-zone").zoneID))
        try await phone.save("two")
        #expect(try await world.open("tablet").text == "two")
    }

    // MARK: The disk

    @Test func killDuringWriteLeavesOldOrNewNote() async throws {
        let world = try NotesWorld()
        let folder = try LockedFolder(path: world.folder.path + "/device", app: "notes")
        let file = NoteFile(folder: folder.path, owner: "_alice")
        var copy = NoteCopy()
        copy.text = "whole"
        try file.write(copy)
        // The file of a process that was killed while writing.
        try Data("{\"text\":\"ha".utf8).write(
            to: URL(fileURLWithPath: folder.path + "/note-%5Falice.json.new"))
        #expect(try NoteFile(folder: folder.path, owner: "_alice").read() == copy)
        // A file is replaced, not overwritten: a reader that has it open, as after a restart, reads all of the old
        // one.
        let path = folder.path + "/note-%5Falice.json"
        let old = try #require(FileHandle(forReadingAtPath: path))
        let oldBytes = try Data(contentsOf: URL(fileURLWithPath: path))
        copy.text = "next"
        try file.write(copy)
        #expect(try old.readToEnd() == oldBytes)
        #expect(try file.read().text == "next")
        let files = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        #expect(files.sorted() == ["device", "lock", "note-%5Falice.json"])
        for name in files {
            let attributes = try FileManager.default.attributesOfItem(
                atPath: folder.path + "/" + name)
            #expect(attributes[.posixPermissions] as? Int == 0o600)
        }
        let attributes = try FileManager.default.attributesOfItem(atPath: folder.path)
        #expect(attributes[.posixPermissions] as? Int == 0o700)
        #expect(throws: LockedFolder.Failure.self) {
            try LockedFolder(path: folder.path, app: "notes")
        }
    }

    @Test func unwritableDiskKeepsTheStoredNote() async throws {
        let world = try NotesWorld()
        let phone = try await world.open("phone")
        try await phone.save("one")
        try FileManager.default.removeItem(atPath: phone.path)
        await #expect(throws: (any Error).self) { try await phone.app.type("two") }
        #expect(await phone.text == "one")
    }
}
