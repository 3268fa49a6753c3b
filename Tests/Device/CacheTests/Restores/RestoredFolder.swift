import Foundation
import StratusCache
import StratusClient
import StratusRecords
import StratusStorage
import StratusTesting
import StratusWire
import Testing

/// The real service on a folder that a copy can replace, and devices that keep their files.
final class RestoredFolder: Sendable {
    private let folder = FileManager.default.temporaryDirectory
        .appendingPathComponent("restored-\(UUID().uuidString)")

    private var data: URL { folder.appendingPathComponent("data") }
    private var copy: URL { folder.appendingPathComponent("copy") }

    init() throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    deinit {
        // A leftover in the temporary folder fails no test.
        try? FileManager.default.removeItem(at: folder)
    }

    /// Starts a service and a device, and stops both at the end.
    ///
    /// - Parameter script: Plans the service's faults.
    func run(
        _ device: String, user: String = "alice", script: (CloudFaults) -> Void = { _ in },
        _ body: (CloudCache) async throws -> Void
    ) async throws {
        let storage = try SQLiteStorageEngine(folder: data.path)
        let cloud = TestCloud(storage: storage)
        script(cloud.faults)
        let cache = try CloudCache(
            path: folder.appendingPathComponent("\(device).sqlite").path,
            container: try await cloud.container(
                CloudDevice.container, user: user, device: device),
            settings: .quick)
        try await body(cache)
        try cache.close()
        try await storage.close()
    }

    /// Starts each device only to sync.
    func sync(_ devices: String...) async throws {
        for device in devices { try await run(device) { try await $0.sync() } }
    }

    /// A device saves records with the text "1" and sends them.
    ///
    /// - Parameter isFetched: Whether it also gets a change token that includes them.
    func save(_ names: String..., on device: String, isFetched: Bool = false) async throws {
        try await run(device) { cache in
            for name in names { try cache.save(name, "1") }
            try await cache.sync()
            // A token includes the device's own saves only after the next fetch.
            guard isFetched else { return }
            await cache.fetchSoon(CKRecordZone.ID.list)
            try await cache.sync()
        }
    }

    /// Expects that devices which sync one after the other have these texts.
    func expect(
        _ texts: [String: String], on devices: String...,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        for device in devices {
            try await run(device) { cache in
                try await cache.sync()
                #expect(
                    try cache.texts() == texts, "\(device)", sourceLocation: sourceLocation)
            }
        }
    }

    func takeCopy() throws {
        try FileManager.default.copyItem(at: data, to: copy)
    }

    func restore() throws {
        try FileManager.default.removeItem(at: data)
        try FileManager.default.copyItem(at: copy, to: data)
    }
}

extension CloudFaults {
    /// The next save gets no answer, and later ones are refused.
    func leaveSaveUnanswered(arrives: Bool) {
        next(
            of: RecordsModify.self,
            arrives ? .dropConnectionAfterCommit : .dropConnectionBeforeCommit)
        next(1_000, of: RecordsModify.self, .answer(.accessDenied))
    }
}

extension CloudCache {
    func save(_ name: String, _ text: String, zone: CKRecordZone.ID = .list) throws {
        let id = CKRecord.ID(recordName: name, zoneID: zone)
        let record = try self.record(for: id) ?? CKRecord(recordType: "Item", recordID: id)
        record["text"] = text
        try save(record)
    }

    func delete(_ name: String) throws {
        try delete(CKRecord.ID(recordName: name, zoneID: .list))
    }

    func texts(zone: CKRecordZone.ID = .list) throws -> [String: String] {
        var texts: [String: String] = [:]
        for record in try records(ofType: "Item", inZoneWith: zone) {
            texts[record.recordID.recordName] = record["text"]
        }
        return texts
    }

    /// The lost changes that were reported to the app.
    func lostChanges() async throws -> [String] {
        try await reports().flatMap { report -> [String] in
            guard case .changesLost(_, let sent, let deleted) = report.event else { return [] }
            return sent.map { "\($0.recordName) sent" } + deleted.map { "\($0.recordName) deleted" }
        }.sorted()
    }
}
