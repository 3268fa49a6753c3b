import StratusClient
import StratusSyncEngine
import Testing

/// The order in which an engine sends records.
@Suite struct EngineOrderTests {
    /// More pending records than fit in a batch come before the records that they refer to.
    @Test func referencedRecordsAreSentFirst() async throws {
        let phone = try await EngineWorld().app("phone")
        phone.makeZone()
        let names = (0..<300).map { "item\($0)" } + ["list", "root"]
        phone.engine.state.add(pendingRecordZoneChanges: names.map { .saveRecord(hut($0)) })
        phone.batch { [engine = phone.engine] context in
            let pending = engine.state.pendingRecordZoneChanges.filter {
                context.options.scope.contains($0)
            }
            return await EngineApp.Batch(pendingChanges: pending) { recordID in
                let record = CKRecord(recordType: "Hut", recordID: recordID)
                if recordID.recordName.hasPrefix("item") {
                    record["list"] = CKRecord.Reference(recordID: hut("list"), action: .deleteSelf)
                }
                if recordID == hut("list") { record.setParent(hut("root")) }
                return record
            }
        }
        try await phone.engine.sendChanges()
        #expect(phone.engine.state.pendingRecordZoneChanges.isEmpty)
        let found = try await phone.database.records(for: names.map { hut($0) })
        #expect(try names.allSatisfy { try found[hut($0)]?.get() != nil })
        let sent = phone.log.filter { $0.hasPrefix("sent +") }
        #expect(sent.count == 2 && sent.first?.hasPrefix("sent +root +list +item0 ") == true)
    }
}
