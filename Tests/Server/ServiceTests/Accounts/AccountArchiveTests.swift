import Foundation
import StratusRecords
import StratusWire
import Synchronization
import TestProcesses
import Testing

@testable import StratusService

/// An account's archive that is made while its user's devices go on.
@Suite struct AccountArchiveTests {
    private let folder = "\(World.container)/development/zone-000"

    /// A person with two zones, of which the first has two pages of records.
    private func traveller() async throws -> Person {
        let ida = try await World().person("ida@example.org", with: "Alps")
        try await ida.makeZone("Trips")
        for start in [0, 200] {
            try await ida.modify(
                (start..<(start + 200)).map { hut(.create, "a\($0)") }, in: "Alps")
        }
        try await ida.modify([hut(.create, "t0")], in: "Trips")
        // Their cost is paid off.
        ida.world.advance(seconds: 60)
        return ida
    }

    /// The files of a person's archive.
    ///
    /// - Parameter change: Runs after the first page of the first zone.
    private func archive(
        of person: Person, change: @escaping @Sendable () async throws -> Void
    ) async throws -> [String: Data] {
        let service = person.world.service
        let archive = Mutex<[UInt8]>([])
        try await service.writeArchive(of: service.accounts.user(person.name)) { piece in
            archive.withLock { $0 += piece }
            let text = String(decoding: piece, as: UTF8.self)
            if text.contains("zone-0001/records-000001") { try await change() }
        }
        return try tarFiles(archive.withLock { $0 })
    }

    @Test func zoneDeletedMeanwhileDoesNotEndTheArchive() async throws {
        let ida = try await traveller()
        let files = try await archive(of: ida) { try await ida.deleteZone("Alps") }
        #expect(files[folder + "1/records-000001.jsonl"] != nil)
        #expect(files[folder + "1/records-000002.jsonl"] == nil)
        let deleted: ZoneDictionary = try readWire(
            from: Array(try #require(files[folder + "1/deleted.json"])))
        #expect(deleted.zoneID.zoneName == "Alps" && deleted.isDeleted == true)
        let records = try #require(files[folder + "2/records-000001.jsonl"])
        #expect(String(decoding: records, as: UTF8.self).contains("\"t0\""))
        #expect(files[folder + "2/deleted.json"] == nil)
    }

    @Test func zoneCreatedAgainMeanwhileIsReadAgain() async throws {
        let ida = try await traveller()
        let files = try await archive(of: ida) {
            try await ida.deleteZone("Alps")
            try await ida.makeZone("Alps")
            try await ida.modify([hut(.create, "new")], in: "Alps")
        }
        #expect(files[folder + "1/deleted.json"] == nil)
        let records = try #require(files[folder + "1/records-000002.jsonl"])
        #expect(String(decoding: records, as: UTF8.self).contains("\"new\""))
        #expect(files[folder + "1/records-000003.jsonl"] == nil)
        #expect(files[folder + "2/records-000001.jsonl"] != nil)
    }
}
