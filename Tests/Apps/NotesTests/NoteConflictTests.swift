import CloudKit
import NotesCore
import StratusTesting
import StratusWire
import Testing

/// Two devices that changed the note, and an older and a newer version of the app.
@Suite(.timeLimit(.minutes(20)))
struct NoteConflictTests {
    @Test(arguments: [true, false])
    func laterEditWinsInEitherOrder(laterFirst: Bool) async throws {
        let world = try NotesWorld()
        let (phone, tablet) = (try await world.open("phone"), try await world.open("tablet"))
        try await phone.save("both")
        await tablet.app.sync()
        for device in [phone, tablet] { await device.app.setOffline(true) }
        try await phone.app.type("in the aeroplane")
        world.clock.advance(bySeconds: 60)
        try await tablet.app.type("absent-minded")
        let order = laterFirst ? [tablet, phone] : [phone, tablet]
        for device in order { await device.app.setOffline(false) }
        for device in order { await device.app.sync() }
        for device in [phone, tablet] {
            #expect(await device.text == "absent-minded")
            #expect(await device.status.lines == ["In the cloud."])
        }
        // The device that resolved the conflict keeps the other text.
        #expect(await order[1].app.copy.overruled == "in the aeroplane")
        #expect(await order[0].app.copy.overruled == nil)
    }

    /// An edit of a text that was seen before is later than that text, whatever the clock says.
    @Test func editWithASlowClockWinsOverTheTextItChanged() async throws {
        let world = try NotesWorld()
        let phone = try await world.open("phone")
        let note = try CloudKitNote(
            database: CloudKitNoteDatabase(container: phone.container),
            file: NoteFile(folder: world.folder.path, owner: "fast"),
            world: TestClock(start: world.clock.now.addingTimeInterval(3_600)).world)
        try await note.edit("from an hour ahead")
        try await note.save()
        await phone.app.sync()
        // The same note is saved again, so that the next save gets a conflict.
        let database = phone.container.privateCloudDatabase
        let record = try await database.record(
            for: CKRecord.ID(
                recordName: "note", zoneID: CKRecordZone(zoneName: "note-zone").zoneID))
        record["version"] = 1
        _ = try await database.save(record)
        try await phone.save("seen, and changed")
        try await note.fetchChanges()
        #expect(await note.copy.text == "seen, and changed")
        await note.retire()
    }

    /// Each line is added to the text as it is then: none overwrites another, or a text that arrived in between.
    @Test func addedLinesOverwriteNothing() async throws {
        let world = try NotesWorld()
        let (phone, tablet) = (try await world.open("phone"), try await world.open("tablet"))
        try await tablet.save("from the tablet")
        await phone.app.sync()
        let app = phone.app
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<50 { group.addTask { try await app.append("\(number)") } }
            try await group.waitForAll()
        }
        let lines = await phone.text.split(separator: "\n").map { String($0) }
        #expect(lines.first == "from the tablet")
        #expect(lines.count == 51)
        #expect(Set(lines.dropFirst()) == Set((0..<50).map { "\($0)" }))
    }

    /// A save whose answer was lost does not count as another device's edit.
    @Test func lostAnswerIsNoConflict() async throws {
        let world = try NotesWorld()
        let phone = try await world.openTyping(beforeFault: .dropConnectionAfterCommit)
        await phone.app.sync()
        #expect(await phone.status.error != nil)
        await phone.app.sync()
        #expect(await phone.status.lines == ["In the cloud."])
        #expect(await phone.app.copy.overruled == nil)
    }

    /// If another device keeps saving first, saving only takes longer.
    @Test func conflictIsRepeatedUntilSaved() async throws {
        let serviceClock = TestClock()
        let world = try NotesWorld(cloud: TestCloud(clock: serviceClock))
        let (phone, tablet) = (try await world.open("phone"), try await world.open("tablet"))
        try await phone.save("one")
        await tablet.app.sync()
        await tablet.app.setOffline(true)
        try await phone.save("two")
        world.clock.advance(bySeconds: 1)
        try await tablet.app.type("three")
        /// Saves the note of another device, an hour behind.
        func save(_ text: String) async throws {
            let record = try await phone.container.privateCloudDatabase.record(
                for: CKRecord.ID(
                    recordName: "note", zoneID: CKRecordZone(zoneName: "note-zone").zoneID))
            let file = URL(fileURLWithPath: world.folder.path + "/" + text)
            try Data(text.utf8).write(to: file)
            record["text"] = CKAsset(fileURL: file)
            _ = try await phone.container.privateCloudDatabase.save(record)
        }
        try await save("four")
        // While the second attempt is at the service, the other device saves first again.
        world.cloud.faults.next(of: RecordsModify.self, .delay(seconds: 0))
        world.cloud.faults.next(of: RecordsModify.self, .delay(seconds: 1))
        let going = Task { await tablet.app.setOffline(false) }
        await serviceClock.waitForSleeper(seconds: 1)
        try await save("five")
        serviceClock.advance(bySeconds: 1)
        await going.value
        #expect(await tablet.text == "three")
        #expect(await tablet.status.lines == ["In the cloud."])
        #expect(await tablet.app.copy.overruled == "five")
    }

    /// An error of one record may be inside a partial failure.
    @Test func errorInsidePartialFailureIsFound() {
        let id = CKRecord.ID(recordName: "note")
        let ours = CKRecord(recordType: "note", recordID: id)
        let theirs = CKRecord(recordType: "note", recordID: id)
        func partial(_ error: CKError) -> CKError {
            CKError(
                .partialFailure, userInfo: [CKPartialErrorsByItemIDKey: [AnyHashable(id): error]])
        }
        let conflict = partial(
            CKError(
                .serverRecordChanged,
                userInfo: [
                    CKRecordChangedErrorClientRecordKey: ours,
                    CKRecordChangedErrorServerRecordKey: theirs,
                ]))
        #expect(conflict.isConflict() && !conflict.isRecordNotFound())
        #expect(conflict.getMergeRecords()?.server === theirs)
        #expect(conflict.first.code == .serverRecordChanged)
        #expect(partial(CKError(.userDeletedZone)).isZoneNotFound())
        #expect(partial(CKError(.changeTokenExpired)).isChangeTokenExpired())
    }

    @Test func olderAppDoesNotChangeNewerNote() async throws {
        let world = try NotesWorld()
        let (old, new) = (
            try await world.open("old"), try await world.open("new", version: 2)
        )
        try await old.save("by the old app")
        await new.app.sync()
        // The newer app reads what the older one wrote.
        #expect(await new.text == "by the old app")
        world.clock.advance(bySeconds: 1)
        try await new.save("by the new app")
        await old.app.sync()
        let sentence = "A newer version of the app wrote this note: update the app on this device."
        #expect(await old.status.error == sentence)
        #expect(await old.text == "by the old app")
        // The text typed here stays on this device, and overwrites nothing.
        world.clock.advance(bySeconds: 1)
        try await old.app.type("typed before the update")
        await old.app.sync()
        #expect(await old.status.error == sentence)
        #expect(await old.status.step == .waiting)
        await new.app.sync()
        #expect(await new.text == "by the new app")
        // The same for an app that has never seen the note.
        let other = try await world.open("other")
        #expect(await other.status.error == sentence)
        try await other.app.type("from an old device")
        await other.app.sync()
        await new.app.sync()
        #expect(await new.text == "by the new app")
        // After the update the later edit is sent.
        await old.app.close()
        let updated = try await world.open("old", version: 2)
        #expect(await updated.status.lines == ["In the cloud."])
        await new.app.sync()
        #expect(await new.text == "typed before the update")
    }
}
