import Foundation
import StratusRecords
import StratusWire
import Synchronization
import TestProcesses
import Testing

@testable import StratusService

/// An account's archive that is made while its user's devices go on.
@Suite struct AccountArchiveTests {
    @Test func zoneDeletedMeanwhileDoesNotEndTheArchive() async throws {
        let ida = try await World().person("ida@example.org", with: "Alps")
        try await ida.makeZone("Trips")
        // Two pages of the first zone.
        for start in [0, 200] {
            try await ida.modify(
                (start..<(start + 200)).map { hut(.create, "a\($0)") }, in: "Alps")
        }
        try await ida.modify([hut(.create, "t0")], in: "Trips")
        let service = ida.world.service
        let archive = Mutex<[UInt8]>([])
        try await service.writeArchive(of: service.accounts.user(ida.name)) { piece in
            archive.withLock { $0 += piece }
            let text = String(decoding: piece, as: UTF8.self)
            if text.contains("zone-0001/records-000001") { try await ida.deleteZone("Alps") }
        }
        let files = try tarFiles(archive.withLock { $0 })
        let folder = "\(World.container)/development/zone-000"
        #expect(files[folder + "1/records-000001.jsonl"] != nil)
        #expect(files[folder + "1/records-000002.jsonl"] == nil)
        let deleted: ZoneDictionary = try readWire(
            from: Array(try #require(files[folder + "1/deleted.json"])))
        #expect(deleted.zoneID.zoneName == "Alps" && deleted.isDeleted == true)
        let records = try #require(files[folder + "2/records-000001.jsonl"])
        #expect(String(decoding: records, as: UTF8.self).contains("\"t0\""))
        #expect(files[folder + "2/deleted.json"] == nil)
    }
}
