import StratusRecords
import StratusTesting
import Testing

@testable import StratusStorage

/// The remaining work of changes that are carried out in steps.
@Suite struct LongChangeTests {
    private static let zone = ZoneRow.Key(rawValue: 1)

    private func withStore(
        _ body: @escaping @Sendable (any RecordTransaction) throws -> Void
    ) async throws {
        let storage = SQLiteStorageEngine.inMemory(world: .seeded(1))
        let store = try await storage.store(
            for: DatabaseAddress(
                ContainerAddress(container: "iCloud.org.example", environment: .development),
                .private(owner: "_a")))
        try await store.writeRecords(body)
    }

    private static func record(_ name: String, parent: String?, version: Int64) -> RecordRow {
        RecordRow(
            zone: zone, name: name, type: "T", version: version, commitVersion: version,
            changeTag: "t", isDeleted: false, creatorDevice: "", createdMilliseconds: 0,
            modifiedMilliseconds: 0, creator: "", modifier: "", modifierDevice: "", parent: parent,
            shareRoot: parent, payload: [1, 2, 3])
    }

    @Test func longChangesAreReadByKindInOrderOfTheirNames() async throws {
        try await withStore { writer in
            for name in ["b", "a", "c"] {
                try writer.put(LongChangeRow(zone: Self.zone, kind: .placement, name: name))
            }
            try writer.put(
                LongChangeRow(zone: Self.zone, kind: .placement, name: "b", detail: "x"))
            #expect(try writer.longChanges(in: Self.zone) == [.placement])
            #expect(try writer.longChanges(.deletion, limit: 5).isEmpty)
            let rows = try writer.longChanges(.placement, limit: 2)
            #expect(rows.map(\.name) == ["a", "b"] && rows.map(\.detail) == ["", "x"])
            try writer.delete(rows[0])
            #expect(try !writer.hasLongChange(.placement, of: "a", in: Self.zone))
            #expect(try writer.hasLongChange(.placement, of: "b", in: Self.zone))
        }
    }

    @Test func childrenArePagedByNameAndBytes() async throws {
        try await withStore { writer in
            for (index, name) in ["p", "a", "b", "c", "d"].enumerated() {
                let version = try writer.takeVersions(1, in: Self.zone).lowerBound
                try writer.put(Self.record(name, parent: index == 0 ? nil : "p", version: version))
            }
            func children(after name: String, limit: Int, bytes: Int) throws -> [String] {
                try writer.children(
                    of: "p", after: name, in: Self.zone, limit: limit, payloadBytes: bytes
                ).map(\.name)
            }
            #expect(try children(after: "", limit: 2, bytes: .max) == ["a", "b"])
            #expect(try children(after: "b", limit: 9, bytes: .max) == ["c", "d"])
            #expect(try children(after: "", limit: 9, bytes: 4) == ["a", "b"])
            #expect(try writer.hasRecords(under: "p", in: Self.zone))
            #expect(try !writer.hasRecords(under: "a", in: Self.zone))
        }
    }

    @Test func rowsOfHiddenZoneAreRemovedInSteps() async throws {
        try await withStore { writer in
            let zone = try writer.createZone(named: "Z", hasFeed: true).key
            for number in 0..<5 {
                let version = try writer.takeVersions(1, in: zone).lowerBound
                var row = Self.record("r\(number)", parent: nil, version: version)
                row.zone = zone
                try writer.put(row)
                try writer.put(
                    ReferenceRow(
                        zone: zone, target: "t", action: .deleteSelf, holder: "r\(number)"))
            }
            #expect(try writer.holdsMoreRecords(than: 4, in: zone))
            #expect(try !writer.holdsMoreRecords(than: 5, in: zone))
            try writer.hideZone(zone, reason: .purged)
            #expect(try writer.zone(named: "Z")?.deletion == .purged)
            var steps = 0
            while try writer.removeRows(ofHiddenZone: zone, limit: 2) { steps += 1 }
            // Three for the references and three for the records.
            #expect(steps == 6)
            #expect(try writer.recordBytes == 0)
            #expect(try writer.holders(of: "t", .deleteSelf, in: zone, limit: 9).isEmpty)
        }
    }
}
