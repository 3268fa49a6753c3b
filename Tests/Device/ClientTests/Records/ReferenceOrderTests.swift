import StratusClient
import Testing

/// Which records other records need, and the order that follows.
@Suite struct ReferenceOrderTests {
    private func record(
        _ name: String, owners: [String] = [], parent: String? = nil, friends: [String] = []
    ) -> CKRecord {
        let record = hut(name)
        func references(
            _ names: [String], _ action: CKRecord.ReferenceAction
        ) -> [CKRecord.Reference] {
            names.map { CKRecord.Reference(recordID: hut($0).recordID, action: action) }
        }
        if let first = owners.first {
            record["owner"] = references([first], .deleteSelf)[0]
            if owners.count > 1 { record["owners"] = references(owners, .deleteSelf) }
        }
        if !friends.isEmpty { record["friends"] = references(friends, .none) }
        if let parent { record.setParent(hut(parent).recordID) }
        return record
    }

    @Test func referencedRecordsComeBeforeTheirReferrers() {
        let records = [
            record("d", owners: ["c", "b"]), record("x"), record("c", parent: "b"),
            record("b", owners: ["nobody"]), record("y", friends: ["z"]), record("z"),
        ]
        #expect(
            records.neededFirst.map(\.recordID.recordName) == ["b", "c", "d", "x", "y", "z"])
    }

    @Test func cyclesAndLongChainsAreOrdered() {
        let ring = [record("a", owners: ["b"]), record("b", owners: ["a"])]
        #expect(ring.neededFirst.map(\.recordID.recordName) == ["b", "a"])
        let chain = (0..<20_000).map { record("r\($0)", parent: "r\($0 + 1)") }
        #expect(chain.neededFirst.map(\.recordID) == chain.reversed().map(\.recordID))
    }
}
