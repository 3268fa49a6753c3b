import Foundation
import TestProcesses
import Testing

/// How the service ends: cleanly when asked to, and with one sentence after a fatal error.
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
        // Less than the 30 seconds that a slow body may take.
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

    @Test func serviceRefusesHostWithoutAddress() throws {
        let (status, error) = try Self.run(
            ["serve", "--memory", "--port", "0", "--host", "no..such"])
        #expect(status != 0)
        #expect(error.split(separator: "\n").count == 1, "\(error)")
        #expect(error.contains("no..such:0. This machine has no such address;"), "\(error)")
    }

    @Test func serviceRefusesDataFolderInUse() throws {
        let folder = try TemporaryFolder()
        let instance = try ServedInstance(dataFolder: folder.path)
        let (status, error) = try Self.run(["serve", "--port", "0", "--data", folder.path])
        #expect(status != 0)
        #expect(error.split(separator: "\n").count == 1, "\(error)")
        #expect(instance.terminate() == 0)
    }

    /// Runs the service until it ends without being asked.
    static func run(_ arguments: [String]) throws -> (status: Int32, error: String) {
        let run = try CommandRun(arguments, reading: .errors)
        return (run.status, run.output)
    }
}
