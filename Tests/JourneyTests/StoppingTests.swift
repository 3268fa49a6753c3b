import Foundation
import Testing

/// How the service ends: cleanly when told to, with one sentence when it must.
@Suite struct StoppingTests {
    @Test func serviceStopsWhilePollIsOpen() throws {
        let instance = try ServedInstance(dataFolder: nil)
        let session = try Session(instance, user: "alice")
        let created = try session.post(
            "tokens/create", #"{"apnsEnvironment":"development"}"#
        ).object()
        let address = try #require(created["webcourierURL"] as? String)
        let url = try #require(URL(string: address))
        let poll = try RawConnection(port: instance.port)
        try poll.send(
            "GET \(url.path)?\(url.query ?? "") HTTP/1.1\r\nHost: localhost\r\n\r\n")
        #expect(try session.post("zones/list", "{}").status == 200)
        #expect(instance.terminate() == 0)
    }

    @Test func incompleteRequestDoesNotDelayStop() throws {
        let instance = try ServedInstance(dataFolder: nil)
        let half = try RawConnection(port: instance.port)
        try half.send(
            "POST /dev/sign-in HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{\"us")
        #expect(try Session(instance, user: "alice").post("zones/list", "{}").status == 200)
        let start = ContinuousClock.now
        #expect(instance.terminate() == 0)
        // Less than the 30 seconds that a slow body is given.
        #expect(ContinuousClock.now - start < .seconds(20))
        _ = half
    }

    @Test func serviceRefusesImpossibleDataFolder() throws {
        let folder = try TemporaryFolder()
        let file = folder.path + "/file"
        #expect(FileManager.default.createFile(atPath: file, contents: Data()))
        let (status, error) = try Self.run(["serve", "--port", "0", "--data", file + "/inside"])
        #expect(status != 0)
        #expect(error.split(separator: "\n").count == 1, "\(error)")
        #expect(error.contains(file), "\(error)")
    }

    @Test func serviceRefusesPortInUse() throws {
        let instance = try ServedInstance(dataFolder: nil)
        let (status, error) = try Self.run(["serve", "--memory", "--port", "\(instance.port)"])
        #expect(status != 0)
        #expect(error.split(separator: "\n").count == 1, "\(error)")
        #expect(error.contains("take another --port"), "\(error)")
        #expect(instance.terminate() == 0)
    }

    @Test func serviceRefusesDataFolderInUse() throws {
        let folder = try TemporaryFolder()
        let instance = try ServedInstance(dataFolder: folder.path)
        let (status, error) = try Self.run(["serve", "--port", "0", "--data", folder.path])
        #expect(status != 0)
        #expect(error.split(separator: "\n").count == 1, "\(error)")
        #expect(instance.terminate() == 0)
    }

    static let isRoot = geteuid() == 0

    @Test(.enabled(if: isRoot, "Only root may mount the small disk that this test fills."))
    func serviceStopsWhenDiskIsFull() throws {
        let folder = try TemporaryFolder()
        try Self.tool("mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", folder.path)
        // A mount that is left behind is gone with the machine at the latest.
        defer { try? Self.tool("umount", "-l", folder.path) }
        let errors = Pipe()
        let instance = try ServedInstance(
            dataFolder: folder.path + "/data", standardError: errors)
        let session = try Session(instance, user: "alice")
        try session.createZone("Trips")
        var acknowledged = 0
        let text = String(repeating: "x", count: 100_000)
        for number in 0..<100 {
            let body =
                #"{"zoneID":{"zoneName":"Trips"},"operations":[{"operationType":"create","record":"#
                + #"{"recordName":"r\#(number)","recordType":"Hut","#
                + #""fields":{"text":{"value":"\#(text)"}}}}]}"#
            // The service may end while it is asked: that is the end that this test is about.
            guard let answer = try? session.post("records/modify", body), answer.status == 200
            else {
                break
            }
            acknowledged += 1
        }
        #expect((1..<100).contains(acknowledged))
        #expect(instance.waitUntilExit() != 0)
        let data = try errors.fileHandleForReading.readToEnd() ?? Data()
        let sentences = String(decoding: data, as: UTF8.self).split(separator: "\n")
        #expect(sentences.last?.contains("disk") == true, "\(sentences)")

        // With room again, everything that was acknowledged is there.
        try Self.tool("mount", "-o", "remount,size=64m", folder.path)
        let restarted = try ServedInstance(dataFolder: folder.path + "/data")
        let again = try Session(restarted, user: "alice")
        let items = (0..<acknowledged).map { #"{"recordName":"r\#($0)"}"# }.joined(separator: ",")
        let answer = try again.post(
            "records/lookup",
            #"{"zoneID":{"zoneName":"Trips"},"desiredKeys":[],"records":[\#(items)]}"#)
        #expect(try answer.errorCode() == nil)
        #expect(restarted.terminate() == 0)
    }

    static func tool(_ arguments: String...) throws {
        guard try ChildProcess(arguments).end() == 0 else { throw POSIXError(.EPERM) }
    }

    /// Runs the service until it ends by itself.
    static func run(_ arguments: [String]) throws -> (status: Int32, error: String) {
        let error = Pipe()
        let process = try ChildProcess(
            [ServedInstance.executable(named: "stratus").path] + arguments,
            error: error.fileHandleForWriting)
        try error.fileHandleForWriting.close()
        let text = try error.fileHandleForReading.readToEnd() ?? Data()
        return (process.end(), String(decoding: text, as: UTF8.self))
    }
}
