import GRDB
import StratusRecords
import StratusSQLite
import StratusTesting
import StratusWire
import Testing

@testable import StratusService
@testable import StratusStorage

/// The doctor reports only what is wrong, gives advice, and rebuilds what is derived from records.
@Suite struct DoctorRepairTests {
    /// Rows that were lost or altered, as by a bug of the program.
    struct Damage: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var sql: String
    }

    static let damages = [
        Damage(testDescription: "entries of indexes", sql: "DELETE FROM record_index"),
        Damage(
            testDescription: "an entry too many",
            sql: """
                INSERT INTO record_index SELECT zone, index_id, key, 'nobody' FROM record_index LIMIT 1
                """),
        Damage(testDescription: "references", sql: "DELETE FROM reference_"),
        Damage(testDescription: "the counter", sql: "UPDATE record_usage SET bytes = bytes + 7"),
        Damage(testDescription: "the size of assets", sql: "UPDATE asset_usage SET size = 9"),
        Damage(testDescription: "a share", sql: "DELETE FROM share"),
        Damage(
            testDescription: "access",
            sql: """
                INSERT INTO share_access SELECT zone, '_nobody', 'nothing', 'root', 0, 1 FROM zone
                LIMIT 1
                """),
        Damage(
            testDescription: "a shared root",
            sql: "UPDATE record SET share_root = 'nothing' WHERE name = 'below'"),
    ]

    /// Alters rows as a bug of the program would, including their checksums.
    private static func run(_ sql: String, in database: Database) throws {
        try SQLStatement(database, sql).run()
        let rows = try SQLStatement(
            database, "SELECT \(SQLiteTransaction.recordColumns) FROM record"
        ).all { SQLiteTransaction.uncheckedRecord($0) }
        for row in rows {
            try SQLStatement(
                database, "UPDATE record SET checksum = ? WHERE zone = ? AND name = ?"
            )
            .bind(1, row.checksum).bind(2, row.zone.rawValue).bind(3, row.name).run()
        }
    }

    @Test func lookupOfOwnUsersRecordIsHealthy() async throws {
        let place = StoredWorld()
        let alice = try await place.world.person("alice")
        #expect(try await alice.lookup([alice.name], in: "_defaultZone")[0].record != nil)
        try await place.expectHealth(of: alice)
    }

    @Test(arguments: damages) func repairRebuildsDerivedRows(_ damage: Damage) async throws {
        let place = StoredWorld()
        let alice = try await place.world.person("alice", with: "Trips")
        try await alice.modify(
            [hut(.create, "root"), share(.create, "Share", of: "root", permission: .readOnly)],
            in: "Trips")
        var below = hut(.create, "below", [owner("root")])
        below.record.parentRecordName = .some("root")
        try await alice.modify([below], in: "Trips")
        let address = place.database(of: alice)
        try await place.expectHealth(of: alice)
        try await place.storage.withDatabase(of: address) { file in
            try await file.write { try Self.run(damage.sql, in: $0) }
        }
        let found = try await Doctor(storage: place.storage).examine().findings
        #expect(!found.isEmpty)
        for finding in found { #expect(finding.isRebuilt, "\(finding)") }
        let repair = try await Doctor(storage: place.storage).repair()
        #expect(repair.diagnosis.findings == [] && repair.dropped == [])
        #expect(repair.rebuilt == [place.storage.path(of: address)])
        try await place.expectHealth(of: alice)
        // The second time there is nothing to do.
        #expect(try await Doctor(storage: place.storage).repair().rebuilt == [])
    }

    /// An index entry with an altered key hides its record from queries by that index, although no row is damaged.
    @Test(arguments: ["beds", "kind"]) func alteredKeyOfAnIndexIsFound(_ field: String) async throws
    {
        let place = StoredWorld(limits: .with { $0.recordsReadPerCompoundIndex = 0 })
        let alice = try await place.world.person("alice", with: "Trips")
        try await alice.modify(
            (0..<60).map { hut(.create, "hut\($0)", [beds($0), text("kind", "\($0 / 30)")]) },
            in: "Trips")
        let query = QueryDictionary(
            recordType: "Hut", filterBy: [.init(.equals, .user("kind"), .string("1"))],
            sortBy: [.init(.user("beds"))])
        func found() async throws -> Int {
            var (count, marker): (Int, String?) = (0, nil)
            repeat {
                let page = try await alice.queryPage(query, limit: 2, after: marker)
                (count, marker) = (count + page.records.count, page.continuationMarker)
            } while marker != nil
            return count
        }
        for _ in 0..<2 {
            #expect(try await found() == 30)
            await place.world.service.waitUntilIdle()
        }
        try await place.expectHealth(of: alice)
        let address = place.database(of: alice)
        try await place.storage.withDatabase(of: address) { file in
            try await file.write { database in
                // Of the index of beds, or the compound one of kind and beds.
                try SQLStatement(
                    database,
                    """
                    UPDATE record_index SET key = CAST(substr(key, 1, length(key) - 1) || x'7F' AS BLOB)
                    WHERE name = 'hut31' AND index_id IN (
                        SELECT index_id FROM index_definition
                        WHERE field = ? AND (kind = 4) = (? = 'kind') AND kind <> 0)
                    """
                ).bind(1, field).bind(2, field).run()
            }
        }
        let findings = try await Doctor(storage: place.storage).examine().findings
        #expect(findings.map(\.violation) == ["hut31"])
        #expect(findings.first?.isRebuilt == true)
        #expect(try await Doctor(storage: place.storage).repair().diagnosis.findings == [])
        try await place.expectHealth(of: alice)
        #expect(try await found() == 30)
    }

    @Test func findingInRecordDataIsNotRepaired() async throws {
        let place = StoredWorld()
        let alice = try await place.world.person("alice", with: "Trips")
        try await alice.modify([hut(.create, "a")], in: "Trips")
        try await place.storage.withDatabase(of: place.database(of: alice)) { file in
            try await file.write {
                try Self.run("UPDATE record SET change_tag = '' WHERE name = 'a'", in: $0)
            }
        }
        let repair = try await Doctor(storage: place.storage).repair()
        #expect(repair.diagnosis.findings.map(\.invariant) == ["A record has a change tag."])
        #expect(repair.rebuilt == [])
        #expect(repair.diagnosis.findings[0].advice.contains("backup"))
    }

    /// Damages a row of every kind that has a checksum: it is dropped only if the operator asks for that.
    @Test func damagedRowsAreDroppedOnRequest() async throws {
        let place = StoredWorld()
        let alice = try await place.world.person("alice", with: "Trips")
        try await alice.modify(
            [hut(.create, "a"), hut(.create, "b"), hut(.create, "c")], in: "Trips")
        try await alice.modify([hut(.forceUpdate, "a", [beds(7)])], in: "Trips")
        let token = try await alice.page("Trips").syncToken
        let address = place.database(of: alice)
        try await place.storage.withDatabase(of: address) { file in
            try await file.write { database in
                for sql in [
                    "UPDATE record SET payload = x'00' WHERE name = 'b'",
                    "UPDATE record_ancestor SET payload = x'00'",
                    "INSERT INTO subscription (user, identifier, body) VALUES ('u', 's', x'00')",
                    "INSERT INTO outbox (body) VALUES (x'00')",
                    """
                    INSERT INTO applied_operation (user, device, operation, outcome, expires_ms)
                    VALUES ('u', 'd', 'o', x'00', 1)
                    """,
                ] { try SQLStatement(database, sql).run() }
            }
        }
        let doctor = Doctor(storage: place.storage)
        let kept = try await doctor.repair()
        #expect(kept.diagnosis.findings.count == 5 && kept.dropped == [])
        for finding in kept.diagnosis.findings {
            #expect(finding.advice.hasSuffix("stratus doctor --repair --drop-damaged"))
        }
        let repair = try await doctor.repair(dropsDamaged: true)
        #expect(repair.diagnosis.findings == [])
        #expect(repair.dropped.count == 5)
        #expect(repair.dropped.contains(place.storage.path(of: address) + ": the record b"))
        // A device that had the record gets its deletion, and the others are unchanged.
        let changes = try await alice.page("Trips", since: token).records
        #expect(changes.map(\.tombstone?.recordName) == ["b"])
        let found = try await alice.lookup(["a", "b", "c"], in: "Trips")
        #expect(found.map { $0.record != nil } == [true, false, true])
    }

    /// While the checksum of a zone's row does not match, requests for the zone are refused.
    @Test func damagedZoneIsRefusedUntilItIsDropped() async throws {
        let place = StoredWorld()
        let alice = try await place.world.person("alice")
        for name in ["Trips", "Trails"] {
            try await alice.makeZone(name)
            try await alice.modify([hut(.create, "a")], in: name)
        }
        let address = place.database(of: alice)
        try await place.storage.withDatabase(of: address) { file in
            try await file.write { database in
                let sql = "UPDATE zone SET encryption_scope = 'PER_ZONF' WHERE name = 'Trips'"
                try SQLStatement(database, sql).run()
            }
        }
        let refusal = await alice.refusal(
            RecordsModify.self,
            .init(operations: [hut(.create, "b")], zoneID: zone("Trips"), isAtomic: true))
        #expect(refusal != nil)
        try await alice.modify([hut(.create, "b")], in: "Trails")
        let doctor = Doctor(storage: place.storage)
        let findings = try await doctor.repair().diagnosis.findings
        #expect(findings.map(\.violation) == ["the zone Trips"])
        let repair = try await doctor.repair(dropsDamaged: true)
        #expect(repair.diagnosis.findings == [] && repair.dropped.count == 1)
        try await alice.modify([hut(.create, "b")], in: "Trips")
        #expect(try await alice.page("Trips").records.count == 2)
    }

    /// The recovery action of a finding decides, not the text of the invariant.
    @Test func recoveryActionDecidesWhatIsRebuilt() {
        #expect(RecordFile.invariants.count { $0.recoveryAction == .rebuild } == 11)
        func finding(_ recoveryAction: Finding.RecoveryAction) -> Finding {
            Finding(
                invariant: "A share has its record.", path: "", violation: "",
                recoveryAction: recoveryAction)
        }
        #expect(finding(.rebuild).isRebuilt && !finding(.saveAgain).isRebuilt)
        #expect(finding(.restoreFile).advice == "Restore the file from a backup.")
        #expect(finding(.dropRow).advice.hasSuffix("--drop-damaged"))
    }
}
