import Foundation
import Synchronization
import TestProcesses
import Testing

/// `stratus backup` while a service is saving, and `stratus restore`; all of them are real processes.
@Suite struct BackupTests {
    /// The number of saves that were acknowledged.
    private final class Acknowledged: Sendable {
        private let state = Mutex((count: 0, isDone: false))

        var count: Int { state.withLock { $0.count } }
        var isDone: Bool { state.withLock { $0.isDone } }
        func add() { state.withLock { $0.count += 1 } }
        func finish() { state.withLock { $0.isDone = true } }
    }

    private static let photo = String(repeating: "photo", count: 2_000)

    /// Saves one record after the other, every tenth with a new asset, until the test stops it.
    private static func keepSaving(
        _ identity: Identity, _ acknowledged: Acknowledged
    ) throws {
        let session = try Session(identity)
        while !acknowledged.isDone {
            let number = acknowledged.count
            let answer = try session.post("records/modify", create("r\(number)"))
            guard answer.status == 200, try answer.errorCode() == nil else {
                throw UnexpectedAnswer(answer: answer)
            }
            acknowledged.add()
        }
    }

    private static func create(_ name: String, _ fields: String = #""beds":{"value":4}"#) -> String
    {
        #"{"zoneID":{"zoneName":"Trips"},"operations":[{"operationType":"create","record":"#
            + #"{"recordName":"\#(name)","recordType":"Hut","fields":{\#(fields)}}}]}"#
    }

    private static func lookup(_ name: String) -> String {
        #"{"zoneID":{"zoneName":"Trips"},"records":[{"recordName":"\#(name)"}]}"#
    }

    /// Saves a record with an asset.
    private static func savePhoto(_ session: Session, _ instance: ServedInstance) throws {
        let tokens = try session.post(
            "assets/upload",
            #"{"zoneID":{"zoneName":"Trips"},"tokens":[{"recordType":"Hut","fieldName":"photo"}]}"#)
        let token = try #require(try tokens.object()["tokens"] as? [[String: Any]])[0]
        let path = String(try #require(token["url"] as? String).dropFirst("http://localhost".count))
        let uploaded = try Session.post(try RawConnection(port: instance.port), path, photo)
        let value = uploaded.body.dropFirst(#"{"singleFile":"#.count).dropLast()
        let saved = try session.post(
            "records/modify", create("photo", #""photo":{"value":\#(value)}"#))
        #expect(try saved.errorCode() == nil)
    }

    private static func modes(below folder: String) throws -> Set<Int> {
        var modes: Set<Int> = []
        let names = try FileManager.default.subpathsOfDirectory(atPath: folder)
        for path in [folder] + names.map({ folder + "/" + $0 }) {
            let attributes = try FileManager.default.attributesOfItem(atPath: path)
            modes.insert((attributes[.posixPermissions] as? NSNumber)?.intValue ?? 0)
        }
        return modes
    }

    @Test func backupTakenWhileSavingIsRestoredWhole() throws {
        let (folder, place) = (try TemporaryFolder(), try TemporaryFolder())
        let backup = place.path + "/backup"
        var (instance, session) = try ServedInstance.withTrips(in: folder)
        try Self.savePhoto(session, instance)
        let acknowledged = Acknowledged()
        let saver = Saver { [identity = session.identity] in
            try Self.keepSaving(identity, acknowledged)
        }
        while acknowledged.count < 20, !saver.hasEnded { usleep(1_000) }
        let before = acknowledged.count
        let run = try CommandRun(["backup", backup, "--data", folder.path])
        #expect(run.status == 0, "\(run.output)")
        let after = acknowledged.count
        acknowledged.finish()
        try saver.end()
        #expect(before >= 20 && after > before)
        #expect(try Self.modes(below: backup) == [0o600, 0o700])

        // Into another service's folder, whose content is moved aside.
        let other = try TemporaryFolder()
        instance = try ServedInstance(dataFolder: other.path)
        _ = try Session(instance, user: "mallory")
        let refused = try CommandRun(["restore", backup, "--data", other.path])
        #expect(refused.status != 0)
        #expect(try Session(instance, user: "mallory").post("zones/list", "{}").status == 200)
        #expect(instance.terminate() == 0)
        let restored = try CommandRun(["restore", backup, "--data", other.path])
        #expect(restored.status == 0, "\(restored.output)")
        #expect(restored.output.contains("/replaced-"), "\(restored.output)")
        let doctor = try CommandRun(["doctor", "--data", other.path])
        #expect(doctor.status == 0, "\(doctor.output)")

        instance = try ServedInstance(dataFolder: other.path)
        session = try Session(instance, user: "alice")
        for number in 0..<before {
            let found = try session.post("records/lookup", Self.lookup("r\(number)"))
            #expect(try found.errorCode() == nil, "r\(number)")
        }
        let found = try session.post("records/lookup", Self.lookup("photo"))
        let record = try #require(try found.object()["records"] as? [[String: Any]])[0]
        let fields = try #require(record["fields"] as? [String: [String: Any]])
        let photo = try #require(fields["photo"]?["value"] as? [String: Any])
        let url = try #require((photo["downloadURL"] as? String).flatMap { URL(string: $0) })
        let connection = try RawConnection(port: instance.port)
        try connection.send(
            "GET \(url.path)?\(url.query ?? "") HTTP/1.1\r\nHost: localhost\r\n\r\n")
        #expect(connection.readAnswer().body == Self.photo)
        #expect(instance.terminate() == 0)
    }

    /// Runs a command on a folder without a service, and then starts a service on it.
    private func restarted(
        after command: String, _ place: TemporaryFolder, _ folder: TemporaryFolder
    ) throws -> (ServedInstance, Session) {
        let run = try CommandRun([command, place.path + "/backup", "--data", folder.path])
        #expect(run.status == 0, "\(run.output)")
        let instance = try ServedInstance(dataFolder: folder.path)
        return (instance, try Session(instance, user: "alice"))
    }

    /// Devices have seen changes that the backup does not have: their tokens expire.
    @Test func changeTokenFromAfterBackupExpires() throws {
        let (folder, place) = (try TemporaryFolder(), try TemporaryFolder())
        var (instance, session) = try ServedInstance.withTrips(in: folder)
        try session.post("records/modify", Self.create("a"))
        // A backup can be made without a service, too.
        #expect(instance.terminate() == 0)
        (instance, session) = try restarted(after: "backup", place, folder)
        try session.post("records/modify", Self.create("b"))
        let changes = try session.post(
            "changes/zone", #"{"zones":[{"zoneID":{"zoneName":"Trips"}}]}"#)
        let zone = try #require(try changes.object()["zones"] as? [[String: Any]])[0]
        let token = try #require(zone["syncToken"] as? String)
        #expect(instance.terminate() == 0)
        (instance, session) = try restarted(after: "restore", place, folder)
        try session.post("records/modify", Self.create("c"))
        let again = try session.post(
            "changes/zone",
            #"{"zones":[{"zoneID":{"zoneName":"Trips"},"syncToken":"\#(token)"}]}"#)
        #expect(try again.errorCode() == "BAD_REQUEST")
        #expect(again.body.contains(#""stratusErrorCode":21"#))
        #expect(instance.terminate() == 0)
    }

    @Test func incompleteOrAlteredBackupIsRefused() throws {
        let (folder, place) = (try TemporaryFolder(), try TemporaryFolder())
        let backup = place.path + "/backup"
        let (instance, _) = try ServedInstance.withTrips(in: folder)
        #expect(instance.terminate() == 0)
        #expect(try CommandRun(["backup", backup, "--data", folder.path]).status == 0)
        // An existing backup is not overwritten.
        #expect(try CommandRun(["backup", backup, "--data", folder.path]).status != 0)

        let manifest = backup + "/manifest.json"
        let target = place.path + "/target"
        try FileManager.default.moveItem(atPath: manifest, toPath: manifest + ".away")
        #expect(try CommandRun(["restore", backup, "--data", target]).status != 0)
        try FileManager.default.moveItem(atPath: manifest + ".away", toPath: manifest)
        let directory = try #require(
            FileHandle(forUpdatingAtPath: backup + "/data/directory.sqlite"))
        try directory.seek(toOffset: 5_000)
        let byte = try #require(try directory.read(upToCount: 1)?.first)
        try directory.seek(toOffset: 5_000)
        try directory.write(contentsOf: [byte ^ 1])
        try directory.close()
        #expect(try CommandRun(["restore", backup, "--data", target]).status != 0)
        #expect(!FileManager.default.fileExists(atPath: target + "/directory.sqlite"))
        // The folder's content is not moved.
        #expect(try CommandRun(["restore", backup, "--data", folder.path]).status != 0)
        #expect(try CommandRun(["doctor", "--data", folder.path]).status == 0)
    }

    /// One user's damaged file does not prevent the backup of other users' data.
    @Test func damagedDatabaseIsNamedAndOthersAreBackedUp() throws {
        let (folder, place) = (try TemporaryFolder(), try TemporaryFolder())
        let backup = place.path + "/backup"
        let instance = try ServedInstance(dataFolder: folder.path)
        let alice = try Session(instance, user: "alice")
        let bob = try Session(instance, user: "bob")
        for session in [alice, bob] {
            try session.createZone("Trips")
            try session.post("records/modify", Self.create("a"))
        }
        #expect(instance.terminate() == 0)
        try alice.damageDatabase(in: folder)
        let run = try CommandRun(["backup", backup, "--data", folder.path])
        #expect(run.status == 1)
        #expect(run.output.contains("not backed up: databases/"), "\(run.output)")
        let target = place.path + "/target"
        #expect(try CommandRun(["restore", backup, "--data", target]).status != 0)
        let partial = try CommandRun(["restore", backup, "--partial", "--data", target])
        #expect(partial.status == 0 && partial.output.contains("not restored"))
        let served = try ServedInstance(dataFolder: target)
        let found = try Session(served, user: "bob").post("records/lookup", Self.lookup("a"))
        #expect(try found.errorCode() == nil)
        #expect(served.terminate() == 0)
    }
}

/// Work in a separate thread.
private final class Saver: Sendable {
    private let outcome = Mutex<Result<Void, any Error>?>(nil)
    private let ended = DispatchSemaphore(value: 0)

    init(_ body: @escaping @Sendable () throws -> Void) {
        Thread.detachNewThread {
            let result = Result { try body() }
            self.outcome.withLock { $0 = result }
            self.ended.signal()
        }
    }

    var hasEnded: Bool { outcome.withLock { $0 != nil } }

    func end() throws {
        ended.wait()
        try outcome.withLock { $0 }?.get()
    }
}
