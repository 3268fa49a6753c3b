import Foundation
import StratusCache
import StratusClient
import StratusStorage
import StratusTesting
import Testing

/// The real service on a folder that a copy of it replaces, without a word of the operator.
@Suite(.timeLimit(.minutes(5))) struct RestoredFolderTests {
    private struct Opened {
        let storage: SQLiteStorageEngine
        let cloud: TestCloud
    }

    private let folder = FileManager.default.temporaryDirectory
        .appendingPathComponent("restored-\(UUID().uuidString)")

    private var data: URL { folder.appendingPathComponent("data") }
    private var copy: URL { folder.appendingPathComponent("copy") }

    private func open() throws -> Opened {
        let storage = try SQLiteStorageEngine(folder: data.path)
        return Opened(storage: storage, cloud: TestCloud(storage: storage))
    }

    private func cache(_ device: String, _ opened: Opened) async throws -> CloudCache {
        try CloudCache(
            path: folder.appendingPathComponent("\(device).sqlite").path,
            container: try await opened.cloud.container(
                CloudDevice.container, user: "alice", device: device),
            settings: .quick)
    }

    /// Starts a service and a device, and stops them again.
    private func run(
        _ device: String, _ body: (CloudCache) async throws -> Void
    ) async throws {
        let opened = try open()
        let cache = try await cache(device, opened)
        try await body(cache)
        try cache.close()
        try await opened.storage.close()
    }

    private func save(_ name: String, _ text: String, _ cache: CloudCache) throws {
        let id = CKRecord.ID(recordName: name, zoneID: .list)
        let record = try cache.record(for: id) ?? CKRecord(recordType: "Item", recordID: id)
        record["text"] = text
        try cache.save(record)
    }

    private func texts(_ cache: CloudCache) throws -> [String: String] {
        var texts: [String: String] = [:]
        for record in try cache.records(ofType: "Item", inZoneWith: .list) {
            texts[record.recordID.recordName] = record["text"]
        }
        return texts
    }

    @Test func serviceGetsBackWhatOnlyDevicesHave() async throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer {
            // A leftover in the temporary folder fails no test.
            try? FileManager.default.removeItem(at: folder)
        }
        try await run("phone") { phone in
            for name in ["a", "b", "c"] { try save(name, "1", phone) }
            try await phone.sync()
        }
        try FileManager.default.copyItem(at: data, to: copy)
        try await run("phone") { phone in
            try save("a", "2", phone)
            try save("new", "1", phone)
            try await phone.delete(CKRecord.ID(recordName: "b", zoneID: .list))
            try await phone.sync()
            // Its token names what it saved itself only after the next fetch.
            await phone.fetchSoon(CKRecordZone.ID(.list))
            try await phone.sync()
        }
        try FileManager.default.removeItem(at: data)
        try FileManager.default.moveItem(at: copy, to: data)
        try await run("tablet") { tablet in
            try await tablet.sync()
            #expect(try texts(tablet) == ["a": "1", "b": "1", "c": "1"])
            try await tablet.delete(CKRecord.ID(recordName: "c", zoneID: .list))
            try await tablet.sync()
        }
        try await run("phone") { phone in
            try await phone.sync()
            #expect(try texts(phone) == ["a": "2", "new": "1"])
            let lost = try await phone.reports().compactMap { report -> [[String]]? in
                guard case .changesLost(_, let sent, let deleted) = report.event else { return nil }
                return [sent.map(\.recordName), deleted.map(\.recordName)]
            }
            #expect(lost.flatMap { $0[0] }.sorted() == ["a", "new"])
            #expect(lost.flatMap { $0[1] } == ["b"])
        }
        try await run("tablet") { tablet in
            try await tablet.sync()
            #expect(try texts(tablet) == ["a": "2", "new": "1"])
        }
    }
}
