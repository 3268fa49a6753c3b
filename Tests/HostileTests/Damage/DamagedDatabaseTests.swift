import Foundation
import TestProcesses
import Testing

/// One user's file is damaged: that user gets an error, and other users are not affected.
@Suite(.serialized) struct DamagedDatabaseTests {
    /// The kinds of damage to a file.
    enum Damage: String, CaseIterable, Sendable {
        case flippedHeader, zeroedPage, truncatedFile, foreignFile, newerFormat, folderInItsPlace
        case unreadableFile

        static let possible = allCases.filter { $0 != .unreadableFile || geteuid() != 0 }
    }

    private static let records = 300
    private static let healthyRequests =
        ProcessInfo.processInfo.environment["STRATUS_LONG"] == nil ? 100 : 2_000

    @Test(arguments: Damage.possible)
    func damagedDatabaseAnswersUnavailable(_ damage: Damage) throws {
        let folder = try TemporaryFolder()
        let file = try Self.fill(folder)
        let intact = folder.path + "/intact.sqlite"
        try FileManager.default.copyItem(atPath: file, toPath: intact)
        try Self.damage(file, damage)

        let instance = try DamageInstance(folder: folder.path)
        let alice = try DamageClient(instance, user: "alice")
        let bob = try DamageClient(instance, user: "bob")
        for number in 0..<Self.healthyRequests {
            let healthy = try bob.look(for: 3)
            try #require(healthy.status == 200 && healthy.word == nil, "\(healthy)")
            guard number % 4 == 0 else { continue }
            let refused = try number % 8 == 0 ? alice.look(for: 200) : alice.save(1, bytes: 10)
            try #require(refused.status == 503, "\(number): \(refused)")
            #expect(refused.word == "TRY_AGAIN_LATER")
            #expect(refused.code == 1_001)
            #expect((refused.retryAfter ?? 0) >= 10)
        }
        #expect(instance.isAlive)
        let health = try DamageClient.health(of: instance)
        #expect(health.status == 200)
        #expect(health.body["status"] as? String == "degraded")
        #expect(health.body["damagedDatabases"] as? Int == 1)
        #expect(instance.log.count { $0.contains(file) } == 1, "\(instance.log)")

        // The file is put back, and the service uses it again.
        try FileManager.default.removeItem(atPath: file)
        try Self.copy(intact, to: file)
        let again = try alice.look(for: Self.records)
        #expect(again.status == 200 && again.word == nil, "\(again)")
        #expect((again.body["records"] as? [Any])?.count == Self.records)
        #expect(try alice.save(1, bytes: 10).status == 200)
        #expect(try DamageClient.health(of: instance).body["status"] as? String == "ready")
        #expect(instance.log.count { $0.contains(file) } == 2, "\(instance.log)")
        #expect(instance.end() == 0)
    }

    /// A file that is damaged while it is open is closed and refused, and opened again once it is repaired.
    @Test func fileDamagedWhileOpenIsClosedAndOpenedAgain() throws {
        let folder = try TemporaryFolder()
        let file = try Self.fill(folder)
        let instance = try DamageInstance(folder: folder.path)
        let alice = try DamageClient(instance, user: "alice")
        // Opened, with hardly a page of it in memory.
        #expect(try alice.look(for: 1).status == 200)
        let intact = try #require(FileManager.default.contents(atPath: file))
        try Self.overwrite(
            file, 8_192..<intact.count, with: [UInt8](repeating: 0, count: intact.count - 8_192))
        #expect(try alice.look(for: 200).code == 1_001)
        // Refused as a whole: a half-readable database is not served.
        #expect(try alice.look(for: 1).code == 1_001)
        try Self.overwrite(file, 0..<intact.count, with: [UInt8](intact))
        let again = try alice.look(for: Self.records)
        #expect(again.status == 200 && again.word == nil, "\(again)")
        #expect(instance.end() == 0)
    }

    /// The checks of all databases at the start skip the damaged one.
    @Test func startSkipsDamagedDatabase() throws {
        let folder = try TemporaryFolder()
        let file = try Self.fill(folder)
        try Self.damage(file, .flippedHeader)
        let instance = try DamageInstance(folder: folder.path)
        let bob = try DamageClient(instance, user: "bob")
        #expect(try bob.look(for: 3).status == 200)
        // No request used the damaged database; the check at the start found it.
        var damaged: Int?
        for _ in 0..<1_000 where damaged != 1 {
            damaged = try DamageClient.health(of: instance).body["damagedDatabases"] as? Int
            usleep(5_000)
        }
        #expect(damaged == 1)
        #expect(
            !instance.log.contains { $0.contains("could not be dispatched") }, "\(instance.log)")
        #expect(instance.end() == 0)
    }

    // MARK: -

    /// Alice and bob save, and the service is stopped.
    ///
    /// - Returns: The path of alice's file.
    static func fill(_ folder: TemporaryFolder) throws -> String {
        let instance = try DamageInstance(folder: folder.path)
        let alice = try DamageClient(instance, user: "alice")
        let bob = try DamageClient(instance, user: "bob")
        for first in stride(from: 0, to: records, by: 100) {
            let answer = try alice.save(100, bytes: 300, from: first)
            try #require(answer.status == 200 && answer.word == nil, "\(answer)")
        }
        try #require(try bob.save(3, bytes: 300).status == 200)
        try #require(instance.end() == 0)
        let databases = folder.path + "/data/databases"
        let name = try #require(
            try FileManager.default.subpathsOfDirectory(atPath: databases)
                .first { $0.hasSuffix("/\(alice.userRecordName).sqlite") })
        return databases + "/" + name
    }

    static func damage(_ file: String, _ damage: Damage) throws {
        let size = try #require(FileManager.default.contents(atPath: file)).count
        switch damage {
        case .flippedHeader: try overwrite(file, 3..<4, with: [0xFF])
        case .zeroedPage:
            try overwrite(
                file, pageOfRecords(in: file), with: [UInt8](repeating: 0, count: 4_096))
        case .truncatedFile: truncate(file, off_t(size / 3))
        case .foreignFile:
            try FileManager.default.removeItem(atPath: file)
            try Data("Dear diary, today I wrote a letter into a folder that was not mine.".utf8)
                .write(to: URL(fileURLWithPath: file))
            chmod(file, 0o600)
        // user_version, in the file's header.
        case .newerFormat: try overwrite(file, 60..<64, with: [0, 0, 0, 99])
        case .folderInItsPlace:
            try FileManager.default.removeItem(atPath: file)
            try FileManager.default.createDirectory(
                atPath: file, withIntermediateDirectories: false,
                attributes: [.posixPermissions: 0o700])
        case .unreadableFile: chmod(file, 0)
        }
    }

    /// A page in the middle of the file that a lookup of the first 200 records must read.
    private static func pageOfRecords(in file: String) throws -> Range<Int> {
        let bytes = try #require(FileManager.default.contents(atPath: file))
        // In a record the text is JSON; an index, which a lookup does not read, has it without quotes.
        let value = Data("\"\(String(repeating: "x", count: 300))\"".utf8)
        let pages = stride(from: 0, to: bytes.count, by: 4_096).map { $0..<$0 + 4_096 }
            .filter { bytes[$0].range(of: value) != nil }
        return try #require(pages.isEmpty ? nil : pages[pages.count / 3])
    }

    static func overwrite(_ file: String, _ range: Range<Int>, with bytes: [UInt8]) throws {
        let handle = try #require(FileHandle(forWritingAtPath: file))
        try handle.seek(toOffset: UInt64(range.lowerBound))
        try handle.write(contentsOf: bytes)
        try handle.close()
    }

    static func copy(_ source: String, to file: String) throws {
        try FileManager.default.copyItem(atPath: source, toPath: file)
        chmod(file, 0o600)
    }
}
