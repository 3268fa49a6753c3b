import StratusRecords
import StratusService
import StratusWire
import Testing

/// What a participant may write, and how a write changes what others see of the share.
@Suite struct ParticipantWriteTests {
    private typealias Trip = SharedDatabaseTrip

    @Test("Readers may not write, and writers only below the share's root")
    func writePermissionAppliesBelowShareRootOnly() async throws {
        let trip = try await Trip()
        try await trip.join(trip.bo, trip.cy)
        func write(
            _ person: Person, _ operation: RecordsModify.Operation
        ) async throws -> FrameworkErrorCode? {
            try await person.modify([operation], in: trip.trips)[0].failed?.error.frameworkCode
        }
        #expect(try await write(trip.cy, hut(.forceUpdate, "hut", [beds(9)])) == .permissionFailure)
        #expect(
            try await write(trip.cy, hut(.create, "new", parent: .some("trail")))
                == .permissionFailure)
        #expect(try await write(trip.cy, hut(.forceDelete, "hut")) == .permissionFailure)
        #expect(try await write(trip.bo, hut(.forceUpdate, "hut", [beds(9)])) == nil)
        #expect(try await write(trip.bo, hut(.create, "new", parent: .some("trail"))) == nil)
        #expect(try await write(trip.bo, hut(.create, "alone")) == .permissionFailure)
        #expect(
            try await write(trip.bo, hut(.forceUpdate, "hut", parent: .none)) == .permissionFailure)
        #expect(try await write(trip.bo, hut(.forceDelete, "trail")) == .permissionFailure)
        #expect(
            try await write(trip.bo, share(.forceUpdate, "S", permission: .readWrite))
                == .permissionFailure)
        // A record that he does not see does not exist for him, but its name is taken.
        #expect(
            try await write(trip.bo, hut(.update, "diary", [beds(9)], tag: "1.aaaa"))
                == .unknownItem)
        #expect(try await write(trip.bo, hut(.forceDelete, "diary")) == nil)
        let taken = try await trip.bo.modify(
            [hut(.create, "diary", parent: .some("trail"))], in: trip.trips)[0]
        #expect(taken.code == .accessDenied)
        #expect(taken.failed?.serverRecord == nil)
        #expect(
            try await write(trip.bo, hut(.create, "child", parent: .some("diary")))
                == .referenceViolation)
        let diary = try await trip.ida.lookup(["diary", "hut", "new"], in: "Trips")
        #expect(diary.map { $0.values["beds"] } == [.int64(3), .int64(9), nil])
        #expect(diary[2].record?.created?.userRecordName == trip.bo.name)
    }

    @Test("A child is not admitted if the move of its parent fails")
    func failedMoveDoesNotAdmitChildRecord() async throws {
        let trip = try await Trip()
        try await trip.join(trip.bo, trip.cy)
        try await trip.ida.modify(
            [hut(.create, "open"), share(.create, "T", of: "open", permission: .readWrite)],
            in: "Trips")
        let second = try await trip.ida.lookup(["T"], in: "Trips")[0].record?.shortGUID
        _ = try await trip.cy.accept(second ?? "")
        let results = try await trip.cy.modify(
            [
                hut(.forceUpdate, "hut", parent: .some("open")),
                hut(.create, "mine", parent: .some("hut")),
            ], in: trip.trips)
        #expect(
            results.map(\.failed?.error.frameworkCode) == [.permissionFailure, .permissionFailure])
    }

    @Test(
        "Moving out of a share is a deletion for its participants, moving in brings everything below"
    )
    func moveOutOfShareIsDeletionForParticipants() async throws {
        let trip = try await Trip()
        try await trip.join(trip.bo)
        let first = try #require(try await trip.bo.changes(in: trip.trips).page)
        let tag = try await trip.ida.lookup(["hut"], in: "Trips")[0].record?.recordChangeTag
        try await trip.ida.modify(
            [hut(.create, "bed", parent: .some("hut"))], in: "Trips")
        try await trip.ida.modify([hut(.forceUpdate, "hut", parent: .none)], in: "Trips")
        let out = try #require(
            try await trip.bo.changes(in: trip.trips, since: first.syncToken).page)
        #expect(Set(out.records.compactMap(\.tombstone?.recordName)) == ["hut", "bed"])
        #expect(out.records.allSatisfy { $0.record == nil })
        try await trip.ida.modify([hut(.forceUpdate, "hut", parent: .some("trail"))], in: "Trips")
        let back = try #require(
            try await trip.bo.changes(in: trip.trips, since: out.syncToken).page)
        #expect(Set(back.records.compactMap(\.record?.recordName)) == ["hut", "bed"])
        // Records that moved with their parent keep their change tags.
        let bed = try await trip.ida.lookup(["bed"], in: "Trips")[0].record
        let saved = try await trip.ida.modify(
            [hut(.update, "bed", [beds(1)], tag: bed?.recordChangeTag)], in: "Trips")
        #expect(saved[0].failed == nil)
        #expect(tag != nil)
    }

    @Test("A participant's cascade deletes what the participant may delete, and leaves the rest")
    func participantCascadeDeletesOnlyPermittedRecords() async throws {
        let trip = try await Trip()
        try await trip.join(trip.bo, trip.cy)
        func referring(
            _ name: String, to target: String, parent: RecordDictionary.ParentChange = .absent
        ) -> RecordsModify.Operation {
            let reference = Reference(recordName: target, action: .deleteSelf)
            let field = Field(name: "of", value: .reference(reference))
            return hut(.create, name, [field], parent: parent)
        }
        try await trip.ida.modify(
            [
                referring("private", to: "hut"),
                referring("shared", to: "hut", parent: .some("trail")),
            ], in: "Trips")
        let token = try #require(try await trip.cy.changes(in: trip.trips).page).syncToken
        #expect(
            try await trip.bo.modify([hut(.forceDelete, "hut")], in: trip.trips)[0].failed == nil)
        let left = try await trip.ida.lookup(["hut", "private", "shared"], in: "Trips")
        #expect(left.map { $0.record != nil } == [false, true, false])
        let seen = try #require(try await trip.cy.changes(in: trip.trips, since: token).page)
        #expect(Set(seen.records.compactMap(\.tombstone?.recordName)) == ["hut", "shared"])
    }

    @Test("A replaced record may keep references to records that its writer cannot see")
    func replacementKeepsReferencesThatItsWriterCannotSee() async throws {
        let trip = try await Trip()
        try await trip.join(trip.bo)
        let fields = [Reference.Action.deleteSelf, .validate].enumerated().map { place, action in
            Field(
                name: "of\(place)",
                value: .reference(Reference(recordName: "diary", action: action)))
        }
        try await trip.ida.modify(
            [hut(.create, "note", fields, parent: .some("hut"))], in: "Trips")
        let seen = try #require(try await trip.bo.lookup(["note"], in: trip.trips)[0].record)
        func replace(_ name: String, tag: String?) async throws -> FrameworkErrorCode? {
            let operation = hut(
                tag == nil ? .create : .replace, name, fields + [beds(9)], tag: tag,
                parent: .some("hut"))
            return try await trip.bo.modify([operation], in: trip.trips)[0].failed?.error
                .frameworkCode
        }
        #expect(try await replace("note", tag: seen.recordChangeTag) == nil)
        let there = try await trip.ida.lookup(["note"], in: "Trips")[0]
        #expect(there.values["beds"] == .int64(9))
        // Targets of new references must be visible to him.
        #expect(try await replace("other", tag: nil) == .referenceViolation)
    }

    @Test("A root that is deleted by a cascade is deleted with its share")
    func cascadedRootDeletesItsShare() async throws {
        let trip = try await Trip()
        try await trip.join(trip.bo)
        let reference = Reference(recordName: "diary", action: .deleteSelf)
        try await trip.ida.modify(
            [
                hut(.forceUpdate, "trail", [Field(name: "of", value: .reference(reference))]),
                hut(.forceUpdate, "hut", parent: .none),
            ], in: "Trips")
        try await trip.ida.modify([hut(.forceDelete, "diary")], in: "Trips")
        let left = try await trip.ida.lookup(["diary", "trail", "S", "hut"], in: "Trips")
        #expect(left.map { $0.record != nil } == [false, false, false, true])
        #expect(try await trip.bo.sharedZones().isEmpty)
        #expect(try await trip.bo.resolve(trip.link).error?.code == .notFound)
    }
}
