import StratusRecords
import StratusService
import StratusStorage
import StratusTesting
import StratusWire
import Testing

/// Saving and deleting single records.
@Suite struct RecordsModifyTests {
    let world = World()

    @Test(arguments: Backend.allCases)
    func createReturnsTheStoredRecord(_ backend: Backend) async throws {
        let alice = try await World(try backend.storage()).person("alice", with: "Trips")
        let saved = try await alice.modify([hut(.create, "hut-3", [beds(24)])], in: "Trips")
        let record = try #require(saved[0].record)
        #expect(record.recordType == "Hut")
        // With the extensions, as the client library asks; other clients get the record name.
        #expect(record.created?.userRecordName == ZoneID.currentUserName)
        #expect(record.created?.deviceID == "phone")
        #expect(record.modified?.timestampMilliseconds == 1_750_000_000_000)
        #expect(record.zoneID?.ownerRecordName == alice.name)
        #expect(record.zoneID?.zoneType == "REGULAR_CUSTOM_ZONE")
        #expect(record.recordChangeTag != nil)
        #expect(try await alice.lookup(["hut-3"], in: "Trips") == saved)
    }

    @Test func unnamedRecordReceivesUUID() async throws {
        let alice = try await world.person("alice")
        let saved = try await alice.modify([hut(.create, nil), hut(.create, nil)])
        let names = saved.compactMap(\.name)
        #expect(Set(names).count == 2)
        #expect(names.allSatisfy { $0.utf8.count == 36 })
    }

    /// The result of each kind of operation with the current change tag, a stale one, or none.
    @Test(arguments: [
        (RecordsModify.Kind.create, "current", ServiceError.Code.conflict),
        (.update, "stale", .conflict), (.replace, "stale", .conflict),
        (.delete, "stale", .conflict), (.update, "none", .conflict), (.replace, "none", .conflict),
        (.delete, "none", .conflict),
    ])
    func conflictReturnsServerRecord(
        _ kind: RecordsModify.Kind, _ which: String, _ code: ServiceError.Code
    ) async throws {
        let alice = try await world.person("alice")
        let first = try await alice.modify([hut(.create, "hut", [beds(1)])])
        let tag =
            which == "none" ? nil : which == "stale" ? "0.0000" : first[0].record?.recordChangeTag
        let result = try await alice.modify([hut(kind, "hut", [beds(2)], tag: tag)])[0]
        #expect(result.code == code)
        #expect(result.failed?.serverRecord == first[0].record)
        #expect(try await alice.lookup(["hut"]) == first)
    }

    @Test(arguments: [
        RecordsModify.Kind.update, .forceUpdate, .replace, .forceReplace,
    ])
    func saveKindMergesOrReplacesFields(_ kind: RecordsModify.Kind) async throws {
        let alice = try await world.person("alice")
        let first = try await alice.modify([
            hut(.create, "hut", [beds(1), text("name", "Gipfelblick"), text("note", "cold")])
        ])
        let force = kind == .forceUpdate || kind == .forceReplace
        let result = try await alice.modify([
            hut(
                kind, "hut", [beds(2), text("note", nil)],
                tag: force ? nil : first[0].record?.recordChangeTag)
        ])[0]
        let isReplacement = kind == .replace || kind == .forceReplace
        #expect(
            result.values
                == (isReplacement
                    ? ["beds": .int64(2)] : ["beds": .int64(2), "name": .string("Gipfelblick")]))
        #expect(result.record?.recordChangeTag != first[0].record?.recordChangeTag)
        #expect(result.record?.created == first[0].record?.created)
    }

    @Test func updateOfStoredRecordNeedsNoType() async throws {
        let alice = try await world.person("alice")
        let first = try await alice.modify([hut(.create, "hut", [beds(1)])])
        let tag = first[0].record?.recordChangeTag
        let result = try await alice.modify([hut(.update, "hut", [beds(2)], tag: tag, type: nil)])
        #expect(result[0].record?.recordType == "Hut")
        #expect(result[0].values == ["beds": .int64(2)])
    }

    @Test(arguments: [
        (RecordsModify.Kind.update, FrameworkErrorCode.unknownItem as FrameworkErrorCode?),
        (.replace, .unknownItem), (.forceUpdate, nil),
        (.forceReplace, nil), (.delete, nil), (.forceDelete, nil),
    ])
    func saveKindDeterminesResultForMissingRecord(
        _ kind: RecordsModify.Kind, _ frameworkCode: FrameworkErrorCode?
    ) async throws {
        let alice = try await world.person("alice")
        let result = try await alice.modify([hut(kind, "hut", [beds(2)], tag: "1.abcd")])[0]
        #expect(result.failed?.error.frameworkCode == frameworkCode)
        #expect((result.code == .notFound) == (frameworkCode == .unknownItem))
        if kind.isDeletion { #expect(result.tombstone?.recordName == "hut") }
    }

    @Test func recreatedRecordHasNewChangeTagAndOrigin() async throws {
        let alice = try await world.person("alice")
        let first = try await alice.modify([hut(.create, "hut", [beds(1)])])[0]
        try await alice.modify([hut(.forceDelete, "hut")])
        world.advance(seconds: 5)
        let again = try await alice.at("tablet").modify([hut(.create, "hut")])[0]
        #expect(again.record?.recordChangeTag != first.record?.recordChangeTag)
        #expect(again.record?.created?.deviceID == "tablet")
        #expect(again.values.isEmpty)
        let stale = try await alice.modify([
            hut(.update, "hut", tag: first.record?.recordChangeTag)
        ])
        #expect(stale[0].code == .conflict)
    }

    @Test func recordTypeCannotChange() async throws {
        let alice = try await world.person("alice")
        try await alice.modify([hut(.create, "hut")])
        let result = try await alice.modify([hut(.forceUpdate, "hut", type: "Trail")])
        #expect(result[0].code == .badRequest)
    }

    @Test func desiredKeysReduceTheAnswerOnly() async throws {
        let alice = try await world.person("alice")
        let answer = try await alice.ask(
            RecordsModify.self,
            .init(
                operations: [hut(.create, "hut", [beds(1), text("name", "x")])],
                desiredKeys: ["beds"]))
        #expect(answer.records[0].values == ["beds": .int64(1)])
        #expect(try await alice.lookup(["hut"])[0].values.count == 2)
    }

    @Test func numbersAsStringsAppliesPerOperation() async throws {
        let alice = try await world.person("alice")
        var first = hut(.create, "a", [beds(1)])
        first.numbersAsStrings = true
        var second = hut(.create, "b", [beds(2)])
        second.numbersAsStrings = false
        let answer = try await alice.ask(
            RecordsModify.self,
            .init(
                operations: [first, second, hut(.create, "c", [beds(3)])], numbersAsStrings: true)
        )
        let texts = answer.records.compactMap(\.record?.fields).map {
            String(decoding: $0.encoded(), as: UTF8.self)
        }
        #expect(texts.map { $0.contains("\"value\":\"") } == [true, false, true])
        #expect(try await alice.lookup(["a"])[0].values == ["beds": .int64(1)])
    }

    @Test(arguments: Backend.allCases)
    func valuesOfEveryTypeRoundTrip(_ backend: Backend) async throws {
        let alice = try await World(try backend.storage()).person("alice")
        let place = Location(
            latitude: 47.25, longitude: -11.5, horizontalAccuracy: 5, verticalAccuracy: 7.5,
            altitude: -3, speed: 0.1, course: 359.9, timestampMilliseconds: -1_500)
        let corner = Location(latitude: -90, longitude: 180)
        let zoneID = ZoneID(name: "_defaultZone", ownerName: alice.name)
        func pointer(_ name: String, _ action: Reference.Action) -> Reference {
            Reference(recordName: name, zoneID: zoneID, action: action)
        }
        let values: [FieldValue] = [
            .string("Gipfel\u{0}\"\\ é 🏔"), .string(""), .int64(.max), .int64(.min),
            .double(0.1), .double(-0.0), .double(.greatestFiniteMagnitude),
            .timestamp(milliseconds: -62_135_596_800_000), .bytes([0, 255, 10]), .bytes([]),
            .location(place), .location(corner), .reference(pointer("x", .none)),
            .reference(pointer("hut", .deleteSelf)), .reference(pointer("hut", .validate)),
            .stringList(["a", "", "a"]), .int64List([3, -1]), .doubleList([1.5, 2]),
            .timestampList(milliseconds: [0, -1]), .bytesList([[1], []]),
            .locationList([place, corner]),
            .referenceList([pointer("x", .none), pointer("hut", .validate)]), .stringList([]),
        ]
        let fields = values.enumerated().map { Field(name: "field\($0)", value: $1) }
        let saved = try await alice.modify([hut(.create, "hut", fields)])[0]
        #expect(saved.failed == nil)
        let found = try await alice.lookup(["hut"])[0].values
        for field in fields { #expect(found[field.name] == field.value) }
    }

    @Test func shortGUIDInDefaultZoneIsRefused() async throws {
        let alice = try await world.person("alice")
        var shared = hut(.create, "shared")
        shared.record.createShortGUID = true
        let results = try await alice.modify([shared])
        #expect(results.map(\.code) == [.badRequest])
    }

    /// A client distinguishes errors by them.
    @Test func eachRecordErrorHasItsOwnUUID() async throws {
        let alice = try await world.person("alice", with: "Trips")
        let looked = try await alice.lookup(["a", "b"], in: "Trips")
        let atomic = await alice.refusal(
            RecordsModify.self,
            .init(
                operations: [hut(.update, "a", tag: "1.abcd"), hut(.create, "b")],
                zoneID: zone("Trips")))
        let failed = (looked + (atomic?.records ?? [])).compactMap(\.failed)
        #expect(failed.count == 4)
        #expect(Set(failed.compactMap(\.uuid)).count == 4)
    }

    // MARK: Parents and references

    @Test func parentMustExistOrBeInTheBatch() async throws {
        let alice = try await world.person("alice", with: "Trips")
        let orphan = await alice.refusal(
            RecordsModify.self,
            .init(operations: [hut(.create, "bed", parent: .some("hut"))], zoneID: zone("Trips")))
        #expect(orphan?.records?[0].code == .validatingReferenceError)
        #expect(orphan?.records?[0].failed?.error.frameworkCode == .referenceViolation)
        let both = try await alice.modify(
            [hut(.create, "bed", parent: .some("hut")), hut(.create, "hut")], in: "Trips")
        #expect(both[0].record?.parentRecordName == .some("hut"))
        let cleared = try await alice.modify(
            [hut(.forceUpdate, "bed", parent: RecordDictionary.ParentChange.none)], in: "Trips")
        #expect(cleared[0].record?.parentRecordName == .absent)
    }

    @Test func parentIsDeletedOnlyWithItsChildren() async throws {
        let alice = try await world.person("alice")
        try await alice.modify([hut(.create, "hut"), hut(.create, "bed", parent: .some("hut"))])
        let alone = try await alice.modify([hut(.forceDelete, "hut")])
        #expect(alone[0].code == .validatingReferenceError)
        let both = try await alice.modify([hut(.forceDelete, "hut"), hut(.forceDelete, "bed")])
        #expect(both.allSatisfy { $0.tombstone != nil })
    }

    @Test func validatingReferenceRequiresItsTarget() async throws {
        let alice = try await world.person("alice")
        func guide(_ target: String) -> [Field] {
            let reference = Reference(recordName: target, action: .validate)
            return [Field(name: "guide", value: .reference(reference))]
        }
        let results = try await alice.modify([
            hut(.create, "a", guide("nobody")), hut(.create, "b", guide("a")),
            hut(.create, "c", guide("d")), hut(.create, "d"),
        ])
        // The second one fails because the first one does.
        #expect(results[0].code == .validatingReferenceError)
        #expect(results[1].code == .validatingReferenceError)
        guard case .reference(let stored) = results[2].values["guide"] else {
            Issue.record("The reference was not stored.")
            return
        }
        #expect(stored.zoneID?.ownerName == alice.name)
    }

    // MARK: The public database

    @Test func publicRecordIsWritableByItsCreatorOnly() async throws {
        let alice = try await world.person("alice")
        let bob = try await world.person("bob")
        try await alice.modify([hut(.create, "hut", [beds(1)])], scope: .public)
        #expect(try await bob.lookup(["hut"], scope: .public)[0].values == ["beds": .int64(1)])
        #expect(try await world.nobody.lookup(["hut"], scope: .public)[0].record != nil)
        for kind in [RecordsModify.Kind.forceUpdate, .forceReplace, .forceDelete] {
            let result = try await bob.modify([hut(kind, "hut", [beds(2)])], scope: .public)[0]
            #expect(result.code == .accessDenied)
            #expect(result.failed?.error.frameworkCode == .permissionFailure)
        }
        let changed = try await alice.modify([hut(.forceUpdate, "hut", [beds(3)])], scope: .public)
        #expect(changed[0].values == ["beds": .int64(3)])
        let anonymous = await world.nobody.refusal(
            RecordsModify.self, .init(operations: [hut(.create, "x")]), in: .public)
        #expect(anonymous?.error.code == .authenticationRequired)
    }
}
