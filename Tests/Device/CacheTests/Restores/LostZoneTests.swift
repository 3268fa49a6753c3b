import StratusCache
import StratusClient
import StratusTesting
import StratusWire
import Testing

/// A restored copy of the service's data is older than a zone, or than its deletion.
@Suite(.timeLimit(.minutes(20))) struct LostZoneTests {
    private static let other = CKRecordZone.ID(zoneName: "Other")

    private let folder: RestoredFolder

    init() throws { folder = try RestoredFolder() }

    /// Both devices have records of a zone that the copy does not contain, and the phone has deleted "a".
    private func loseZone(of names: [String], isDeletionSent: Bool) async throws {
        try await folder.sync("phone", "tablet")
        try folder.takeCopy()
        try await folder.run("phone") { phone in
            for name in names { try phone.save(name, "1") }
            try await phone.sync()
        }
        try await folder.sync("tablet", "phone")
        try await folder.run("phone") { phone in
            try phone.delete("a")
            if isDeletionSent { try await phone.sync() }
        }
        try folder.restore()
    }

    /// The phone creates a zone that the copy does not contain, and fetches nothing.
    ///
    /// - Parameter endpoint: One without which the phone cannot fetch.
    private func loseUnfetchedZone(refusing endpoint: any Endpoint.Type) async throws {
        try folder.takeCopy()
        try await folder.run("phone") { cloud in
            cloud.next(1_000, of: endpoint, .answer(.accessDenied))
        } _: { phone in
            try phone.save("a", "1")
            await #expect(throws: CacheError.self) { try await phone.sync() }
        }
        try folder.restore()
    }

    /// The device that syncs first recreates the zone, and the tablet sends the record that the phone has deleted.
    @Test(arguments: ["phone", "tablet"], [false, true])
    func recordDeletedBeforeRestoreStaysDeleted(first: String, isDeletionSent: Bool) async throws {
        try await loseZone(of: ["a", "b"], isDeletionSent: isDeletionSent)
        try await folder.sync(first, first == "phone" ? "tablet" : "phone")
        for device in ["phone", "tablet", "phone", "laptop"] {
            try await folder.run(device) { cache in
                try await cache.sync()
                if device != "phone" { #expect(try cache.texts() == ["b": "1"], "\(device)") }
            }
        }
        try await folder.run("phone") { phone in
            try await phone.sync()
            #expect(try phone.texts() == ["b": "1"])
            // A deletion that was pending all the time was never lost.
            let isPending = !isDeletionSent && first == "tablet"
            #expect(try await phone.lostChanges() == (isPending ? [] : ["a deleted"]))
        }
    }

    /// A record that another device creates after the restore is another record.
    @Test func recordRecreatedAfterRestoreStays() async throws {
        try await folder.sync("phone", "tablet")
        try folder.takeCopy()
        try await folder.run("phone") { phone in
            for name in ["a", "b"] { try phone.save(name, "1") }
            try await phone.sync()
            try phone.delete("a")
        }
        try folder.restore()
        try await folder.run("tablet") { tablet in
            try await tablet.sync()
            try tablet.save("a", "anew")
            try await tablet.sync()
        }
        try await folder.sync("phone", "tablet")
        try await folder.expect(["a": "anew", "b": "1"], on: "phone", "tablet")
    }

    /// - Parameters:
    ///   - isFetched: Whether the phone has a change token of the zone.
    ///   - isRecreated: Whether another device creates a zone of that name after the restore.
    @Test(arguments: [false, true], [false, true])
    func recordOfZoneNewerThanTheCopyIsSentAgain(isFetched: Bool, isRecreated: Bool) async throws {
        try await folder.sync("phone", "tablet")
        try folder.takeCopy()
        try await folder.save("a", on: "phone", isFetched: isFetched)
        try folder.restore()
        var texts = ["a": "1"]
        if isRecreated {
            texts["c"] = "1"
            try await folder.run("tablet") { tablet in
                // The other zone takes the number that the lost zone had.
                try tablet.save("other", "1", zone: Self.other)
                try await tablet.sync()
                try tablet.save("c", "1")
                try await tablet.sync()
            }
        }
        for device in ["phone", "phone", "tablet"] {
            try await folder.run(device) { cache in
                try await cache.sync()
                #expect(try cache.texts() == texts, "\(device)")
                for report in try await cache.reports() {
                    if case .recordsMissing = report.event { Issue.record("\(device): \(report)") }
                }
            }
        }
    }

    /// The tablet's database token belongs to the lost history, so no token reports the deletion to it.
    @Test func zoneDeletedAfterRestoreStaysDeleted() async throws {
        try await folder.save("a", on: "phone")
        try await folder.sync("tablet")
        try folder.takeCopy()
        for _ in 0..<2 {
            try await folder.run("tablet") { tablet in
                try tablet.save("other", "1", zone: Self.other)
                try await tablet.sync()
            }
        }
        try folder.restore()
        try await folder.run("phone") { phone in
            try await phone.sync()
            try await phone.deleteZone(CKRecordZone.ID.list)
            try await phone.sync()
        }
        for device in ["tablet", "phone", "laptop"] {
            try await folder.run(device) { cache in
                try await cache.sync()
                #expect(try cache.texts() == [:], "\(device)")
                #expect(try cache.texts(zone: Self.other) == ["other": "1"], "\(device)")
            }
        }
    }

    /// Copies the folder after the phone has created the zone and these devices have fetched it.
    private func copyOfZone(fetchedBy devices: String...) async throws {
        try await folder.save("a", on: "phone")
        for device in devices { try await folder.sync(device) }
        try folder.takeCopy()
    }

    /// A device that deleted the zone, or fetched its deletion, deletes it again.
    @Test func zoneDeletedBeforeRestoreStaysDeleted() async throws {
        try await copyOfZone(fetchedBy: "tablet", "phone")
        try await folder.run("phone") { phone in
            try await phone.deleteZone(CKRecordZone.ID.list)
            try await phone.sync()
            try await phone.sync()
        }
        try folder.restore()
        try await folder.expect([:], on: "phone", "tablet", "phone", "laptop")
    }

    /// Only the phone knows of the deletion, and its database token is older.
    @Test func acknowledgedButUnfetchedZoneDeletionIsRepeated() async throws {
        try await copyOfZone(fetchedBy: "phone", "tablet")
        try await folder.run("phone") { cloud in
            cloud.next(1_000, of: ChangesDatabase.self, .answer(.accessDenied))
        } _: { phone in
            try await phone.deleteZone(CKRecordZone.ID.list)
            // The zone is deleted before anything is fetched.
            await #expect(throws: CacheError.self) { try await phone.sync() }
        }
        try folder.restore()
        try await folder.expect([:], on: "phone", "tablet", "laptop")
        try await folder.run("phone") { phone in
            let zones = try await phone.reports().compactMap { report -> CKRecordZone.ID? in
                guard case .changesLost(let zone, [], []) = report.event else { return nil }
                return zone
            }
            #expect(zones == [.list])
        }
    }

    /// The device has only the database token of the answer to the zone's creation.
    @Test func acknowledgedButUnfetchedZoneIsRecreated() async throws {
        try await folder.sync("tablet")
        try await loseUnfetchedZone(refusing: SubscriptionsModify.self)
        // Another zone is created before anything is fetched.
        try await folder.run("phone") { phone in
            try phone.save("other", "1", zone: Self.other)
        }
        for device in ["phone", "tablet"] {
            try await folder.run(device) { cache in
                try await cache.sync()
                #expect(try cache.texts() == ["a": "1"], "\(device)")
                #expect(try cache.texts(zone: Self.other) == ["other": "1"], "\(device)")
            }
        }
    }

    /// The phone has fetched nothing since the tablet deleted a zone, but has created another one that the copy does
    /// not have.
    @Test func zoneDeletedBeforeTheCopyStaysDeletedWhileAnotherIsRecreated() async throws {
        try await folder.run("phone") { phone in
            try phone.save("other", "1", zone: Self.other)
            try await phone.sync()
        }
        try await folder.sync("tablet", "phone")
        try await folder.run("tablet") { tablet in
            try await tablet.deleteZone(Self.other)
            try await tablet.sync()
        }
        try await loseUnfetchedZone(refusing: ChangesDatabase.self)
        try await folder.sync("phone", "tablet")
        for device in ["phone", "tablet"] {
            try await folder.run(device) { cache in
                try await cache.sync()
                #expect(try cache.texts() == ["a": "1"], "\(device)")
                #expect(try cache.texts(zone: Self.other).isEmpty, "\(device)")
            }
        }
    }

    /// The phone has deleted and recreated a zone without fetching; the copy only has the deletion.
    @Test func recreatedZoneDeletedInTheCopyIsRecreatedAgain() async throws {
        func run(_ change: (CloudCache) async throws -> Void) async throws {
            try await folder.run("phone") { cloud in
                cloud.next(1_000, of: ChangesDatabase.self, .answer(.accessDenied))
            } _: { phone in
                try await change(phone)
                await #expect(throws: CacheError.self) { try await phone.sync() }
            }
        }
        try await folder.run("phone") { phone in
            try phone.save("other", "1", zone: Self.other)
            try await phone.sync()
        }
        try await folder.sync("tablet", "phone")
        try await run { try await $0.deleteZone(Self.other) }
        try folder.takeCopy()
        try await run { try $0.save("new", "1", zone: Self.other) }
        try folder.restore()
        try await folder.sync("phone", "tablet")
        for device in ["phone", "tablet"] {
            try await folder.run(device) { cache in
                try await cache.sync()
                #expect(try cache.texts(zone: Self.other) == ["new": "1"], "\(device)")
            }
        }
    }

    /// The tablet had fetched the empty zone, so it takes the zone that comes back for another one, until the phone
    /// deletes it again.
    @Test func restoredZoneIsDeletedAgainByTheDeviceThatDeletedIt() async throws {
        try await folder.save("a", on: "phone")
        try await folder.run("phone") { phone in
            try phone.delete("a")
            try await phone.sync()
        }
        try await folder.sync("tablet")
        try await folder.save("b", on: "phone", isFetched: true)
        try folder.takeCopy()
        try await folder.run("phone") { phone in
            try await phone.deleteZone(CKRecordZone.ID.list)
            try await phone.sync()
        }
        try await folder.sync("tablet")
        try folder.restore()
        try await folder.expect(["b": "1"], on: "tablet")
        try await folder.expect([:], on: "phone", "tablet", "laptop")
    }

    /// Nothing else is in the zone: the phone knows only of the deletion.
    @Test(arguments: [false, true])
    func onlyRecordOfLostZoneStaysDeleted(isDeletionSent: Bool) async throws {
        try await loseZone(of: ["a"], isDeletionSent: isDeletionSent)
        try await folder.sync("phone", "tablet", "phone")
        try await folder.expect([:], on: "tablet", "laptop", "phone")
    }

    /// The zone is created, and the first save into it gets no answer. The first fetch of the zone would not show
    /// whether the save arrived and another device has deleted the record since.
    ///
    /// - Parameter isZoneLost: Whether the zone is recreated after a restore, or created for the first time.
    @Test(arguments: [false, true], [false, true])
    func unansweredFirstSaveIsNeitherLostNorDuplicated(isZoneLost: Bool, arrives: Bool) async throws
    {
        try await folder.run("phone") { phone in
            try phone.save("other", "1", zone: Self.other)
            try await phone.sync()
        }
        try await folder.sync("tablet")
        try folder.takeCopy()
        if isZoneLost {
            try await folder.save("a", on: "phone")
            try folder.restore()
        }
        try await folder.run("phone") { cloud in
            cloud.leaveSaveUnanswered(arrives: arrives)
        } _: { phone in
            if !isZoneLost {
                try await phone.sync()
                try phone.save("a", "1")
            }
            await #expect(throws: CacheError.self) { try await phone.sync() }
        }
        if arrives {
            try await folder.run("tablet") { tablet in
                try await tablet.sync()
                try tablet.delete("a")
                try await tablet.sync()
            }
        }
        try await folder.expect(arrives ? [:] : ["a": "1"], on: "phone", "tablet", "laptop")
    }

    /// The tablet had fetched the zone when it was empty. No device has deleted the zone, so a zone that is created
    /// after the restore with the same number is not a deleted one.
    @Test func missingZoneDoesNotCountAsDeleted() async throws {
        try await folder.sync("phone", "tablet")
        try folder.takeCopy()
        try await folder.save("a", on: "phone")
        try await folder.run("phone") { phone in
            try phone.delete("a")
            try await phone.sync()
        }
        try await folder.sync("tablet")
        try folder.restore()
        try await folder.sync("tablet")
        try await folder.save("b", on: "laptop")
        try await folder.run("tablet") { cloud in
            // One of the two is for the shared database.
            cloud.next(2, of: ChangesDatabase.self, .expireChangeTokens)
        } _: { tablet in
            try await tablet.sync()
        }
        try await folder.expect(["b": "1"], on: "laptop", "tablet")
    }

    /// The phone creates a zone after these devices have synced and the service was copied, and deletes the zone once
    /// the tablet has it.
    private func makeAndDeleteZone(after devices: String...) async throws {
        for device in devices { try await folder.sync(device) }
        try folder.takeCopy()
        try await folder.save("a", on: "phone")
        try await folder.sync("tablet", "phone")
        try await folder.run("phone") { phone in
            try await phone.deleteZone(CKRecordZone.ID.list)
            try await phone.sync()
        }
    }

    /// The zone and its deletion were lost together. A zone that another device creates since is another one, although
    /// it has the number of the deleted one.
    ///
    /// - Parameter hasSameKey: Whether it also has the lost zone's key in the service's file.
    @Test(arguments: [false, true])
    func zoneCreatedAfterRestoreIsNotTakenForTheDeletedOne(hasSameKey: Bool) async throws {
        try await makeAndDeleteZone(after: "phone", "tablet", "laptop")
        try await folder.sync("tablet", "phone")
        try folder.restore()
        if !hasSameKey {
            try await folder.run("laptop") { laptop in
                try laptop.save("other", "1", zone: Self.other)
                try await laptop.sync()
            }
        }
        try await folder.save("b", on: "laptop")
        // The tablet fetched the deletion, and the phone made it.
        try await folder.expect(["b": "1"], on: "tablet", "phone", "laptop")
    }

    /// A device that never learned of the deletion recreates the zone. The device that deleted the zone deletes its
    /// records again, except one that was created since.
    @Test(arguments: [false, true])
    func recordsOfZoneDeletedBeforeItWasLostStayDeleted(isDeviceFirst: Bool) async throws {
        try await makeAndDeleteZone(after: "phone", "tablet")
        try folder.restore()
        if isDeviceFirst { try await folder.sync("phone") }
        try await folder.save("b", on: "tablet")
        try await folder.sync("phone", "tablet")
        try await folder.expect(["b": "1"], on: "phone", "tablet", "laptop")
    }
}
