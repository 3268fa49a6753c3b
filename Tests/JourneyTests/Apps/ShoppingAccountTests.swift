import Foundation
import TestProcesses
import Testing

/// Several people use the shopping app on one device, at a service that runs without `--dev`.
@Suite struct ShoppingAccountTests {
    private static let container = "iCloud.org.stratus.Shopping"
    private let service: TemporaryFolder
    private let device: TemporaryFolder

    init() throws { (service, device) = (try TemporaryFolder(), try TemporaryFolder()) }

    @Test func anotherUsersTokenOpensAnotherFile() throws {
        let (alice, bob) = (try token(of: "alice"), try token(of: "bob"))
        let instance = try ServedInstance(dataFolder: service.path, arguments: [])
        let made = try shop(alice, instance.url, ["new Party", "add Candles", "sync"])
        #expect(made.output.contains("In step with the service."))
        let strange = try shop(bob, instance.url, ["lists", "new Camping", "add Gas", "sync"])
        #expect(!strange.output.contains("Party"))
        #expect(strange.output.contains("In step with the service."))
        let own = try shop(alice, instance.url, ["sync", "lists"])
        #expect(own.output.contains("Party") && !own.output.contains("Camping"))
        #expect(instance.terminate() == 0)

        // Offline, an earlier user is known by the token, and others get no access.
        let offline = try shop(alice, instance.url, ["lists", "open Party", "show"])
        #expect(offline.output.contains("Candles"))
        let stranger = try shop(try token(of: "carol"), instance.url, ["lists"])
        #expect(stranger.status == 1)
        #expect(stranger.error.contains("while the service can be reached"))
        #expect(!stranger.output.contains("Party"))
        try expectNoTokens(alice, bob)
    }

    /// An earlier release kept the lists of all tokens in one file.
    @Test func fileOfEarlierReleaseIsAdoptedByItsUserOnly() throws {
        let (alice, bob) = (try token(of: "alice"), try token(of: "bob"))
        let instance = try ServedInstance(dataFolder: service.path, arguments: [])
        _ = try shop(alice, instance.url, ["new Party", "sync", "offline", "add Candles"])
        try renameAlicesFile()

        let strange = try shop(bob, instance.url, ["lists", "status"])
        #expect(!strange.output.contains("Party"))
        #expect(strange.output.contains(formerPath))
        #expect(FileManager.default.fileExists(atPath: formerPath))

        // Changes that she had not sent are sent from her own file.
        let own = try shop(alice, instance.url, ["online", "lists", "sync", "status"])
        #expect(own.output.contains("Party (1 to buy)"))
        #expect(own.output.contains("Changes waiting to be sent: 0"))
        #expect(!own.output.contains(formerPath))
        #expect(!FileManager.default.fileExists(atPath: formerPath))
        try FileManager.default.removeItem(atPath: device.path)
        let elsewhere = try shop(alice, instance.url, ["sync", "open Party", "show"])
        #expect(elsewhere.output.contains("Candles"))
        #expect(instance.terminate() == 0)
    }

    /// Lists that were never synced name no user, so no user gets them.
    @Test func fileOfEarlierReleaseThatNeverSyncedIsLeftAlone() throws {
        let alice = try token(of: "alice")
        let instance = try ServedInstance(dataFolder: service.path, arguments: [])
        _ = try shop(nil, instance.url, ["new Party", "add Candles"])
        try FileManager.default.moveItem(
            atPath: device.path + "/lists.sqlite", toPath: formerPath)
        for ending in ["-wal", "-shm"]
        where FileManager.default.fileExists(atPath: device.path + "/lists.sqlite" + ending) {
            try FileManager.default.moveItem(
                atPath: device.path + "/lists.sqlite" + ending, toPath: formerPath + ending)
        }
        let signedIn = try shop(alice, instance.url, ["sync", "lists", "status"])
        #expect(!signedIn.output.contains("Party"))
        #expect(signedIn.output.contains(formerPath))
        #expect(FileManager.default.fileExists(atPath: formerPath))
        #expect(instance.terminate() == 0)
    }

    // MARK: Steps

    private var formerPath: String { device.path + "/lists-signed-in.sqlite" }

    private func token(of user: String) throws -> [String: String] {
        let printed = try CommandRun([
            "token", "create", "--data", service.path, "--container", Self.container,
            "--user", user, "--new-user",
        ]).output
        let pairs = printed.split(separator: "\n").map { $0.split(separator: "=", maxSplits: 1) }
        return Dictionary(uniqueKeysWithValues: pairs.map { (String($0[0]), String($0[1])) })
    }

    /// Runs `shopping` with these lines until it ends.
    private func shop(
        _ tokens: [String: String]?, _ url: String, _ lines: [String]
    ) throws -> (status: Int32, output: String, error: String) {
        let (input, output, error) = (Pipe(), Pipe(), Pipe())
        let process = try ChildProcess(
            [BuiltProgram.named("shopping").path, "--data", device.path],
            input: input.fileHandleForReading, output: output.fileHandleForWriting,
            error: error.fileHandleForWriting,
            environment: (tokens ?? [:]).merging(["STRATUS_URL": url]) { $1 })
        for end in [input.fileHandleForReading, output.fileHandleForWriting] { try end.close() }
        try error.fileHandleForWriting.close()
        // A program that refused to start does not read.
        try? input.fileHandleForWriting.write(
            contentsOf: Data(lines.map { $0 + "\n" }.joined().utf8))
        try input.fileHandleForWriting.close()
        let printed = try output.fileHandleForReading.readToEnd() ?? Data()
        let said = try error.fileHandleForReading.readToEnd() ?? Data()
        return (
            process.end(), String(decoding: printed, as: UTF8.self),
            String(decoding: said, as: UTF8.self)
        )
    }

    /// Renames the only account's file to what an earlier release would have left.
    private func renameAlicesFile() throws {
        let files = FileManager.default
        for name in try files.contentsOfDirectory(atPath: device.path)
        where name.hasPrefix("lists-account-") {
            let ending = name.split(separator: ".", maxSplits: 1).last.map { "." + $0 } ?? ""
            try files.moveItem(
                atPath: device.path + "/" + name, toPath: device.path + "/lists-signed-in" + ending)
        }
        try files.removeItem(atPath: device.path + "/tokens.json")
        #expect(files.fileExists(atPath: formerPath))
    }

    private func expectNoTokens(_ tokens: [String: String]...) throws {
        for name in try FileManager.default.contentsOfDirectory(atPath: device.path) {
            let file = device.path + "/" + name
            let content = FileManager.default.contents(atPath: file) ?? Data()
            for secret in tokens.compactMap({ $0["STRATUS_WEB_AUTH_TOKEN"] }) {
                #expect(!name.contains(secret))
                #expect(content.range(of: Data(secret.utf8)) == nil, "\(name)")
            }
            let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions]
            if name != "notes.json" { #expect(mode as? Int == 0o600, "\(name)") }
        }
    }
}
