import Foundation
import Logging
import StratusRecords
import StratusStorage

/// A data folder with databases whose records are known, which tests damage and reopen.
struct MarkedFolder {
    static let container = ContainerAddress(
        container: "iCloud.org.example.Trails", environment: .development)
    static let alice = DatabaseAddress(container, .private(owner: "_alice"))
    static let bob = DatabaseAddress(container, .private(owner: "_bob"))
    static let zone = "Trips"

    let path: String

    init(_ path: String) {
        self.path = path
    }

    func file(of address: DatabaseAddress) -> String {
        let name = if case .private(let owner) = address.tenant { owner } else { "public" }
        return "\(path)/databases/i^cloud.org.example.^trails/development/\(name).sqlite"
    }

    /// Opens the folder, runs `body` and closes it, even if `body` fails.
    func withStorage<Outcome>(
        limits: StorageLimits = StorageLimits(), logger: Logger = Logger(label: "test"),
        _ body: (SQLiteStorageEngine) async throws -> Outcome
    ) async throws -> Outcome {
        let storage = try SQLiteStorageEngine(folder: path, limits: limits, logger: logger)
        let outcome: Result<Outcome, any Error>
        do {
            outcome = .success(try await body(storage))
        } catch {
            // Thrown again below, after the files were closed.
            outcome = .failure(error)
        }
        try await storage.close()
        return try outcome.get()
    }

    /// Saves records one after the other, each in its own commit.
    ///
    /// - Returns: The payloads that were acknowledged, by record name.
    static func save(
        _ names: [String], to store: any RecordStore, payload: (String) -> [UInt8] = payload
    ) async throws -> [String: [UInt8]] {
        var saved: [String: [UInt8]] = [:]
        for name in names {
            let bytes = payload(name)
            try await store.writeRecords { writer in
                let zone = try writer.createZone(
                    named: zone, hasFeed: true, encryptionScope: .perRecord)
                let version = try writer.takeVersions(1, in: zone.key).lowerBound
                try writer.put(row(name, zone.key, version, bytes))
            }
            saved[name] = bytes
        }
        return saved
    }

    static func payload(of name: String) -> [UInt8] {
        Array(#"{"title":{"value":"the way to \#(name)","type":"STRING"}}"#.utf8)
    }

    static func row(
        _ name: String, _ zone: ZoneRow.Key, _ version: Int64, _ payload: [UInt8]
    ) -> RecordRow {
        RecordRow(
            zone: zone, name: name, type: "Trip", version: version, commitVersion: version,
            changeTag: "\(version)", isDeleted: false, creatorDevice: "phone",
            createdMilliseconds: 1, modifiedMilliseconds: 2, creator: "_alice", modifier: "_alice",
            modifierDevice: "phone", parent: nil, shareRoot: nil, payload: payload)
    }

    /// The records that a lookup of the names finds.
    static func lookUp(
        _ names: [String], in store: any RecordStore
    ) async throws -> [String: [UInt8]] {
        try await store.read { reader in
            guard let zone = try reader.zone(named: zone) else { return [:] }
            return try reader.records(named: names, in: zone.key).mapValues(\.payload)
        }
    }

    /// The records that a device gets when it fetches everything.
    static func fetchChanges(in store: any RecordStore) async throws -> [String: [UInt8]] {
        try await store.read { reader in
            guard let zone = try reader.zone(named: zone) else { return [:] }
            let beginning = ChangeCursor(version: 0, skipTombstonesThrough: 0, device: "")
            let page = try reader.changes(in: zone.key, after: beginning, limit: 100_000)
            return Dictionary(page.rows.map { ($0.name, $0.payload) }) { first, _ in first }
        }
    }

    /// The files of a database as they are now: what a killed process leaves.
    func files(of address: DatabaseAddress) -> [String: Data] {
        let file = file(of: address)
        var files: [String: Data] = [:]
        for path in [file, file + "-wal", file.replacing(".sqlite", with: ".mark")] {
            files[path] = FileManager.default.contents(atPath: path)
        }
        return files
    }

    /// Puts files back, without the log's index, which a process recreates.
    func put(_ files: [String: Data], of address: DatabaseAddress) throws {
        for ending in ["-wal", "-shm"] {
            let path = file(of: address) + ending
            if FileManager.default.fileExists(atPath: path) {
                try FileManager.default.removeItem(atPath: path)
            }
        }
        for (path, bytes) in files { try Self.write(bytes, to: path) }
    }

    static func write(_ bytes: Data, to path: String) throws {
        try bytes.write(to: URL(fileURLWithPath: path))
    }

    /// Changes a byte in the middle of a text in a file.
    static func flip(_ text: String, in path: String) throws {
        var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        guard let place = bytes.range(of: Data(text.utf8)) else { throw TextIsMissing(text: text) }
        bytes[place.lowerBound + text.utf8.count / 2] ^= 1
        try write(bytes, to: path)
    }

    struct TextIsMissing: Error { let text: String }
}

/// Runs `body` with a folder that is removed afterwards.
func withMarkedFolder<Outcome>(
    _ body: (MarkedFolder) async throws -> Outcome
) async throws -> Outcome {
    try await withTemporaryFolder { try await body(MarkedFolder($0)) }
}
