import Foundation
import Testing

/// How the service ends: cleanly when told to, with one sentence when it must.
@Suite struct StoppingTests {
    @Test func stopsOnRequestWithAPollOpen() throws {
        let instance = try ServedInstance(dataFolder: nil)
        let session = try Session(instance, user: "alice")
        let created = try session.post("tokens/create", #"{"apnsEnvironment":"development"}"#)
            .object()
        let url = try #require(URL(string: try #require(created["webcourierURL"] as? String)))
        let poll = try RawConnection(port: instance.port)
        try poll.send(
            "GET \(url.path)?\(url.query ?? "") HTTP/1.1\r\nHost: localhost\r\n\r\n")
        #expect(try session.post("zones/list", "{}").status == 200)
        #expect(instance.terminate() == 0)
    }

    @Test func refusesADataFolderThatCannotBe() throws {
        let folder = try TemporaryFolder()
        let file = folder.path + "/file"
        #expect(FileManager.default.createFile(atPath: file, contents: Data()))
        let (status, error) = try Self.run(["serve", "--port", "0", "--data", file + "/inside"])
        #expect(status != 0)
        #expect(error.split(separator: "\n").count == 1, "\(error)")
        #expect(error.contains(file), "\(error)")
    }

    @Test func refusesADataFolderInUse() throws {
        let folder = try TemporaryFolder()
        let instance = try ServedInstance(dataFolder: folder.path)
        let (status, error) = try Self.run(["serve", "--port", "0", "--data", folder.path])
        #expect(status != 0)
        #expect(error.split(separator: "\n").count == 1, "\(error)")
        #expect(instance.terminate() == 0)
    }

    /// Runs the service until it ends by itself.
    static func run(_ arguments: [String]) throws -> (status: Int32, error: String) {
        let process = Process()
        process.executableURL = ServedInstance.executable(named: "stratus")
        process.arguments = arguments
        let error = Pipe()
        process.standardError = error
        process.standardOutput = FileHandle.nullDevice
        try process.run()
        let text = try error.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        return (process.terminationStatus, String(decoding: text, as: UTF8.self))
    }
}
