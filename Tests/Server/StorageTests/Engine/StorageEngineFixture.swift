import StratusRecords

@testable import StratusStorage

/// A database with records, for suites over a storage engine's folder.
protocol StorageEngineFixture: Sendable {}

extension StorageEngineFixture {
    var container: ContainerAddress {
        ContainerAddress(container: "iCloud.org.example.Trails", environment: .development)
    }

    var address: DatabaseAddress { DatabaseAddress(container, .private(owner: "_alice")) }

    func fill(_ store: any RecordStore, names: [String]) async throws -> Epoch {
        try await store.writeRecords { writer in
            let zone = try writer.createZone(named: "Trails", hasFeed: true).key
            let versions = try writer.takeVersions(names.count, in: zone)
            for (name, version) in zip(names, versions) {
                try writer.put(self.record(name, zone, version, payload: 200))
            }
            return try writer.epoch
        }
    }

    func record(
        _ name: String, _ zone: ZoneRow.Key, _ version: Int64, payload: Int
    ) -> RecordRow {
        RecordRow(
            zone: zone, name: name, type: "Trail", version: version, commitVersion: version,
            changeTag: "\(version)", isDeleted: false, creatorDevice: "phone",
            createdMilliseconds: 1, modifiedMilliseconds: 2, creator: "_alice", modifier: "_alice",
            modifierDevice: "phone", parent: nil, shareRoot: nil,
            payload: [UInt8](repeating: 7, count: payload))
    }

    func code(_ body: () async throws -> Void) async -> StorageError.Code? {
        do {
            try await body()
            return nil
        } catch {
            return (error as? StorageError)?.code ?? StorageError.Code(rawValue: "\(error)")
        }
    }
}
