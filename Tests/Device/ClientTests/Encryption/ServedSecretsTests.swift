import Foundation
import Logging
import StratusStorage
import StratusTesting
import Synchronization
import TestServing
import Testing

@testable import StratusClient

/// A service on disk that two people use over HTTP to share a zone: its files and its log contain neither their
/// encrypted values nor a key.
@Suite struct ServedSecretsTests {
    private static let texts = [
        "Grossglockner-Murmeltier-1864", "Ben-Hochschober-Enzian", "Ida-Schleinitz-Gams",
        String(repeating: "Ein-langer-Tag-am-Lasoerling. ", count: 400),
    ]
    private static let plain = "Kalser-Tauernhaus-plain"

    /// Records a server's log lines at every level.
    private struct KeptLog: LogHandler {
        let lines: Kept<String>
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace

        init(_ lines: Kept<String>) { self.lines = lines }

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            lines.add("\(event.message) \(metadata) \(event.metadata ?? [:])")
        }
    }

    private func serving(
        _ cloud: TestCloud, _ log: Kept<String>,
        _ body: @escaping @Sendable (String) async throws -> Void
    ) async throws {
        try await withServer(
            cloud.service, logger: Logger(label: "test") { _ in KeptLog(log) }
        ) { try await body("http://127.0.0.1:\($0)") }
    }

    @Test func serviceFilesAndLogHoldNoSecrets() async throws {
        let (served, devices) = (try Scratch(), try Scratch())
        let storage = try SQLiteStorageEngine(folder: served.folder.path)
        let log = Kept<String>()
        let secrets = Kept<Data>()
        try await serving(TestCloud(storage: storage), log) { origin in
            let ida = device("ida", origin, devices)
            let ben = device("ben", origin, devices)
            try await shareDiaries(ida, ben, photo: devices.file("photo", bytes: 4_000))
            for text in Self.texts { secrets.add(Data(text.utf8.prefix(60))) }
            for container in [ida, ben] {
                for secret in try await keys(of: container, devices) { secrets.add(secret) }
            }
            // While the service runs: saved data is still in SQLite's logs.
            let files = try contents(of: served.folder)
            #expect(files.contains { $0.key.hasSuffix("-wal") && !$0.value.isEmpty })
            #expect(files.contains { $0.key.contains(".assets/") && !$0.value.isEmpty })
            expectNone(of: secrets.all, in: files)
        }
        try await storage.close()
        let files = try contents(of: served.folder)
        expectNone(of: secrets.all, in: files)
        // Values that are not encrypted are found, so the search works.
        let everything = files.values.reduce(into: Data()) { $0 += $1 }
        #expect(everything.holds(Data(Self.plain.utf8)))
        #expect(everything.holds(Data(content(4_000))))
        let lines = log.all.joined(separator: "\n")
        #expect(lines.contains("records/modify"))
        expectNone(of: secrets.all, in: ["the log": Data(lines.utf8)])
    }

    private func device(_ user: String, _ origin: String, _ devices: Scratch) -> CKContainer {
        CKContainer(
            identifier: Trip.identifier,
            connection: CloudConnection(environmentVariables: [
                "STRATUS_URL": origin, "STRATUS_DEVICE_ID": user, "STRATUS_DEV_USER": user,
                "STRATUS_KEY_FOLDER": devices.folder.appendingPathComponent(user).path,
            ]))
    }

    /// Everything that people do with encrypted values: save, share, join, change, delete.
    private func shareDiaries(
        _ ida: CKContainer, _ ben: CKContainer, photo: URL
    ) async throws {
        let mine = ida.privateCloudDatabase
        try await mine.save(CKRecordZone(zoneID: trips))
        let record = hut("a")
        record["name"] = Self.plain
        record["photo"] = CKAsset(fileURL: photo)
        record.encryptedValues["diary"] = Self.texts[0]
        record.encryptedValues["blob"] = Data(Self.texts[0].utf8)
        record.encryptedValues["list"] = [Self.texts[0], Self.texts[3]]
        let gone = hut("gone")
        gone.encryptedValues["diary"] = Self.texts[3]
        let share = CKShare(recordZoneID: trips)
        share.publicPermission = .readWrite
        let saved = try await mine.modifyRecords(saving: [record, gone, share], deleting: [])
        for result in saved.saveResults.values { _ = try result.get() }

        let link = try #require(share.url)
        #expect(ShareLinkKey.key(in: link) != nil)
        let joined = try await ben.accept(try await ben.shareMetadata(for: link))
        let recordID = CKRecord.ID(recordName: "a", zoneID: joined.recordID.zoneID)
        let seen = try await ben.sharedCloudDatabase.record(for: recordID)
        #expect(seen.encryptedValues["diary"] == Self.texts[0])
        seen.encryptedValues["diary"] = Self.texts[1]
        try await ben.sharedCloudDatabase.save(seen)
        let changed = try await mine.record(for: record.recordID)
        #expect(changed.encryptedValues["diary"] == Self.texts[1])
        changed.encryptedValues["diary"] = Self.texts[2]
        try await mine.save(changed)
        // The service logs refused requests.
        seen.encryptedValues["diary"] = Self.texts[3]
        let refused = try await ben.sharedCloudDatabase.modifyRecords(saving: [seen], deleting: [])
        #expect(
            (refused.saveResults[recordID]?.failure as? CKError)?.code == .serverRecordChanged)
        try await mine.deleteRecord(withID: gone.recordID)
    }

    /// The account's key and all keys derived from it.
    private func keys(of container: CKContainer, _ devices: Scratch) async throws -> [Data] {
        let recovery = try await container.recoveryKey()
        let key = try #require(RecoveryKey.key(recovery))
        let user = try await container.userRecordID().recordName
        return [
            Data(key.bytes), Data(key.zoneKey(owner: user, zoneName: "Trips").bytes),
            key.keyringKey.withUnsafeBytes { Data($0) }, Data(recovery.utf8),
            Data(recovery.replacingOccurrences(of: "-", with: "").utf8),
        ]
    }

    /// Every file below a folder, by its path.
    private func contents(of folder: URL) throws -> [String: Data] {
        var contents: [String: Data] = [:]
        for path in try FileManager.default.subpathsOfDirectory(atPath: folder.path) {
            let url = folder.appendingPathComponent(path)
            var isFolder: ObjCBool = false
            guard FileManager.default.fileExists(atPath: url.path, isDirectory: &isFolder) else {
                continue
            }
            if !isFolder.boolValue { contents[path] = try Data(contentsOf: url) }
        }
        return contents
    }

    private func expectNone(of secrets: [Data], in files: [String: Data]) {
        for (path, bytes) in files {
            for (number, secret) in secrets.enumerated() {
                for (form, text) in forms(of: secret) {
                    #expect(!bytes.holds(text), "\(path) has secret \(number) as \(form)")
                }
            }
        }
    }

    /// The forms in which bytes may be written: as they are, in hexadecimal, and in both alphabets of base64 at any
    /// offset.
    private func forms(of secret: Data) -> [(String, Data)] {
        let hex = secret.map { String(format: "%02x", $0) }.joined()
        var forms = [
            ("bytes", secret), ("hexadecimals", Data(hex.utf8)),
            ("HEXADECIMALS", Data(hex.uppercased().utf8)),
        ]
        for offset in 0..<3 {
            let text = (Data(count: offset) + secret).base64EncodedString()
            let inner = String(text.dropFirst(4).dropLast(4))
            forms.append(("base64", Data(inner.utf8)))
            forms.append(
                (
                    "base64url",
                    Data(
                        inner.replacingOccurrences(of: "+", with: "-")
                            .replacingOccurrences(of: "/", with: "_").utf8)
                ))
        }
        return forms
    }
}

extension Data {
    /// Whether the data contains some bytes; `range(of:)` would take seconds for this much data.
    fileprivate func holds(_ text: Data) -> Bool {
        withUnsafeBytes { bytes in
            text.withUnsafeBytes { text in
                guard let first = text.first, let wanted = text.baseAddress,
                    var start = bytes.baseAddress
                else { return false }
                let end = start + bytes.count
                while end - start >= text.count,
                    let found = memchr(start, Int32(first), end - start)
                {
                    start = UnsafeRawPointer(found)
                    if end - start < text.count { return false }
                    if memcmp(start, wanted, text.count) == 0 { return true }
                    start += 1
                }
                return false
            }
        }
    }
}
