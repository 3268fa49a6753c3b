import StratusCache
import StratusClient
import StratusWire
import Testing

/// The real service on a folder that is replaced by a copy without any notice by the operator.
@Suite(.timeLimit(.minutes(20))) struct RestoredFolderTests {
    private let folder: RestoredFolder

    init() throws { folder = try RestoredFolder() }

    @Test func changesLostInRestoreAreSentAgainByDevices() async throws {
        try await folder.save("a", "b", "c", on: "phone")
        try folder.takeCopy()
        try await folder.run("phone") { phone in
            try phone.save("a", "2")
            try phone.save("new", "1")
            try phone.delete("b")
            try await phone.sync()
            // The phone's token includes its own deletion only after the next fetch.
            await phone.fetchSoon(CKRecordZone.ID.list)
            try await phone.sync()
        }
        try folder.restore()
        try await folder.run("tablet") { tablet in
            try await tablet.sync()
            #expect(try tablet.texts() == ["a": "1", "b": "1", "c": "1"])
            try tablet.delete("c")
            try await tablet.sync()
        }
        try await folder.run("phone") { phone in
            try await phone.sync()
            #expect(try phone.texts() == ["a": "2", "new": "1"])
            #expect(try await phone.lostChanges() == ["a sent", "b deleted", "new sent"])
        }
        try await folder.expect(["a": "2", "new": "1"], on: "tablet")
    }

    /// Copies the folder after the phone has sent and fetched two records.
    private func copyOfTwoRecords() async throws {
        try await folder.save("a", "b", on: "phone", isFetched: true)
        try folder.takeCopy()
    }

    /// The versions of sent changes are newer than the change token until the next fetch.
    @Test func acknowledgedButUnfetchedSavesAreSentAgain() async throws {
        try await copyOfTwoRecords()
        try await folder.run("phone") { phone in
            try phone.save("a", "2")
            try phone.save("new", "1")
            try await phone.sync()
        }
        try folder.restore()
        try await folder.run("phone") { phone in
            try await phone.sync()
            #expect(try phone.texts() == ["a": "2", "b": "1", "new": "1"])
            #expect(try await phone.lostChanges() == ["a sent", "new sent"])
        }
        try await folder.expect(["a": "2", "b": "1", "new": "1"], on: "tablet")
    }

    @Test func acknowledgedButUnfetchedDeletionIsRepeated() async throws {
        try await copyOfTwoRecords()
        try await folder.run("phone") { phone in
            try phone.delete("a")
            try await phone.sync()
        }
        try folder.restore()
        try await folder.run("phone") { phone in
            try await phone.sync()
            #expect(try phone.texts() == ["b": "1"])
            #expect(try await phone.lostChanges() == ["a deleted"])
        }
        try await folder.expect(["b": "1"], on: "tablet")
    }

    private func saveInStep(_ name: String, on device: String) async throws {
        try await folder.run(device) { cache in
            try await cache.sync()
            try cache.save(name, "1")
            try await cache.sync()
        }
    }

    /// The device has no token of the zone, but the change tags of its saves show that nothing was lost.
    @Test func intactSaveDeletedElsewhereBeforeFirstFetchStaysDeleted() async throws {
        try await folder.sync("phone")
        try await folder.save("a", "b", on: "phone")
        try folder.takeCopy()
        try await saveInStep("lost", on: "tablet")
        try folder.restore()
        try await folder.run("laptop") { laptop in
            try await laptop.sync()
            try laptop.delete("a")
            try await laptop.sync()
        }
        try await folder.run("phone") { phone in
            try await phone.sync()
            #expect(try phone.texts() == ["b": "1"])
            #expect(try await phone.lostChanges() == [])
        }
    }

    @Test(arguments: ["1", "2"])
    func savesAfterRestoreAreNotTakenForLostOnes(_ text: String) async throws {
        try await folder.run("phone") { phone in
            try phone.save("a", "0")
            try await phone.sync()
        }
        try folder.takeCopy()
        try await folder.save("a", on: "phone")
        try folder.restore()
        try await saveInStep("b", on: "tablet")
        for _ in 0..<2 {
            try await folder.run("phone") { phone in
                try phone.save("a", text)
                try await phone.sync()
                #expect(try phone.texts() == ["a": text, "b": "1"])
            }
        }
        try await folder.expect(["a": text, "b": "1"], on: "tablet")
    }

    /// The tablet edits the record after the deletion, without having fetched it.
    ///
    /// - Parameter isRecreated: Whether the record is the second one of its name.
    @Test(arguments: [["phone", "tablet"], ["tablet", "phone"]], [false, true])
    func recordEditedAfterItsLostDeletionStaysDeleted(
        order: [String], isRecreated: Bool
    ) async throws {
        try await folder.save("b", on: "phone")
        try await folder.sync("tablet")
        try folder.takeCopy()
        try await folder.run("phone") { phone in
            try phone.save("a", "1")
            try await phone.sync()
            guard isRecreated else { return }
            try phone.delete("a")
            try phone.save("a", "2")
            try await phone.sync()
        }
        try await folder.sync("tablet", "phone")
        try await folder.run("phone") { phone in
            try phone.delete("a")
            try await phone.sync()
        }
        try folder.restore()
        try await folder.run("tablet") { tablet in
            let id = CKRecord.ID(recordName: "a", zoneID: .list)
            let record = try #require(try tablet.record(for: id))
            record["note"] = "later"
            try tablet.save(record)
        }
        for device in order + ["phone", "tablet"] { try await folder.sync(device) }
        try await folder.expect(["b": "1"], on: "phone", "tablet", "laptop")
    }

    /// The phone learns of the loss, and deletes the record before it could send it again: the service does not know of
    /// the deletion.
    @Test func lostRecordDeletedBeforeItIsSentAgainStaysDeleted() async throws {
        try await folder.save("b", on: "phone")
        try await folder.sync("tablet")
        try folder.takeCopy()
        try await folder.save("a", on: "phone")
        try await folder.sync("tablet", "phone")
        try folder.restore()
        try await folder.run("phone") { cloud in
            cloud.next(1_000, of: RecordsModify.self, .answer(.accessDenied))
        } _: { phone in
            await #expect(throws: CacheError.self) { try await phone.sync() }
            try phone.delete("a")
        }
        try await folder.sync("phone", "tablet", "phone", "tablet")
        try await folder.expect(["b": "1"], on: "phone", "tablet", "laptop")
    }

    /// The tablet deletes a record and creates another one of its name. The phone deletes the first one without
    /// knowing, and later learns that history was lost.
    @Test func deletionBeforeTokenExpiryKeepsRecordRecreatedElsewhere() async throws {
        try await folder.save("a", "b", on: "phone")
        try await folder.sync("phone", "tablet")
        try await folder.run("tablet") { tablet in
            try tablet.delete("a")
            try tablet.save("a", "another")
        }
        try await folder.run("phone") { phone in
            try phone.delete("a")
            try await phone.sync()
        }
        try await folder.run("phone") { cloud in
            cloud.next(of: ChangesZone.self, .expireChangeTokens)
        } _: { phone in
            await phone.fetchSoon(CKRecordZone.ID.list)
            try await phone.sync()
        }
        try await folder.sync("tablet", "phone", "tablet")
        try await folder.expect(["a": "another", "b": "1"], on: "phone", "tablet", "laptop")
    }

    /// A save after the restore, before any fetch, gets the version number of the lost record.
    ///
    /// - Parameter isFetched: Whether the phone has a change token that includes the lost record.
    @Test(arguments: [false, true])
    func saveAfterRestoreDoesNotHideLostRecord(isFetched: Bool) async throws {
        try await folder.save("a", on: "phone")
        try await folder.sync("phone", "tablet")
        try folder.takeCopy()
        try await folder.save("lost", on: "phone", isFetched: isFetched)
        try folder.restore()
        try await folder.run("phone") { cloud in
            // The save arrives before the zone is fetched, and no request after it does.
            cloud.next(1, of: ChangesZone.self, .answer(.accessDenied))
        } _: { phone in
            try phone.save("new", "1")
            // The sync may end with or without a fetch.
            try? await phone.sync()
        }
        try await folder.expect(
            ["a": "1", "lost": "1", "new": "1"], on: "phone", "tablet", "phone")
    }

    /// The phone's next save is refused because of saves since the restore, of which the phone does not know.
    ///
    /// - Parameter saves: The number of saves after the restore; the first one gets the version of the lost one.
    @Test(arguments: [1, 3])
    func fieldLostInRestoreSurvivesConflictWithLaterSave(saves: Int) async throws {
        let id = CKRecord.ID(recordName: "a", zoneID: .list)
        try await folder.save("a", on: "phone")
        try await folder.sync("tablet")
        try folder.takeCopy()
        try await folder.run("phone") { phone in
            let record = try #require(try await phone.record(for: id))
            record["note"] = "lost"
            try await phone.save(record)
            try await phone.sync()
        }
        try folder.restore()
        try await folder.run("tablet") { tablet in
            for number in 1...saves {
                try tablet.save("a", "tablet's \(number)")
                try await tablet.sync()
            }
        }
        try await folder.run("phone") { cloud in
            // The phone does not learn of the restore from the database's changes.
            cloud.next(4, of: ChangesDatabase.self, .answer(.accessDenied))
        } _: { phone in
            try phone.save("a", "phone's")
            // The sync may end with or without the save.
            try? await phone.sync()
        }
        try await folder.sync("phone", "tablet")
        for device in ["phone", "tablet", "laptop"] {
            try await folder.run(device) { cache in
                try await cache.sync()
                let record = try #require(try await cache.record(for: id))
                #expect(record["text"] == "phone's", "\(device)")
                #expect(record["note"] == "lost", "\(device)")
            }
        }
    }
}
