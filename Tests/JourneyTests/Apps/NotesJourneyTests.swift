#if os(Linux)
    import Foundation
    import TestProcesses
    import Testing

    /// The notes app on two devices of one user, at a service that runs without `--dev`.
    @Suite(.timeLimit(.minutes(20)))
    struct NotesJourneyTests {
        private let service: TemporaryFolder
        private let phoneFolder: TemporaryFolder
        private let tabletFolder: TemporaryFolder
        private let tokens: [String: String]

        init() throws {
            service = try TemporaryFolder()
            phoneFolder = try TemporaryFolder()
            tabletFolder = try TemporaryFolder()
            let printed = try CommandRun([
                "token", "create", "--data", service.path, "--container",
                "iCloud.org.stratus.Notes", "--user", "alice", "--new-user",
            ]).output
            let pairs = printed.split(separator: "\n").map {
                $0.split(separator: "=", maxSplits: 1)
            }
            tokens = Dictionary(uniqueKeysWithValues: pairs.map { (String($0[0]), String($0[1])) })
        }

        private func open(
            _ folder: TemporaryFolder, _ url: String, _ arguments: [String] = []
        ) throws -> DocumentDevice {
            try DocumentDevice(
                "notes", ["--data", folder.path] + arguments,
                tokens.merging(["STRATUS_URL": url]) { $1 })
        }

        /// Waits for the full stop that ends a command's answer.
        private func done(_ device: DocumentDevice) throws { try device.wait(for: ".") }

        @Test func noteSurvivesKilledDeviceAndService() throws {
            var instance = try ServedInstance(dataFolder: service.path, arguments: [])
            let (url, port) = (instance.url, instance.port)
            var phone = try open(phoneFolder, url)
            let tablet = try open(tabletFolder, url)
            try tablet.tap("show", "(empty)")
            try done(tablet)
            // The first note creates the subscription, and the next one is pushed.
            try phone.tap("write Buy", "-- On this device, not in the cloud yet.")
            try done(phone)
            try phone.tap("sync", "-- In the cloud.")
            try done(phone)
            while try phone.tap("json", "  \"isSubscribed\" :") != "true," { try done(phone) }
            try done(phone)
            try phone.tap("write Buy milk", "-- On this device, not in the cloud yet.")
            try done(phone)
            // The typing timer sends the note, and a push delivers it.
            try tablet.wait(for: "* Changed elsewhere:")
            try tablet.wait(for: "Buy milk")
            // The app is killed before the timer fires, and the service is stopped as well.
            instance.kill()
            try phone.tap("add Call Ida", "-- On this device, not in the cloud yet.")
            phone.kill()
            phone = try open(phoneFolder, url)
            try phone.wait(for: "* The service cannot be reached")
            try phone.tap("show", "Buy milk")
            try phone.wait(for: "Call Ida")
            try phone.wait(for: "-- On this device, not in the cloud yet.")
            try done(phone)
            instance = try ServedInstance(dataFolder: service.path, arguments: [], port: port)
            try phone.tap("sync", "-- In the cloud.")
            try done(phone)
            try tablet.wait(for: "Call Ida")
            try tablet.tap("sign-out", "You are signed out")
            #expect(try tablet.quit() == 0 && phone.quit() == 0)
            for name in try FileManager.default.contentsOfDirectory(atPath: tabletFolder.path) {
                let data = FileManager.default.contents(atPath: tabletFolder.path + "/" + name)
                #expect(data.map { $0.range(of: Data("Ida".utf8)) == nil } ?? true, "\(name)")
            }
            // A single command, for use by programs.
            let once = try open(phoneFolder, url, ["show", "--json"])
            #expect(try once.wait(for: "  \"state\" :").contains("saved"))
            #expect(try once.wait(for: "  \"text\" :").contains(#""Buy milk\nCall Ida""#))
            #expect(try once.quit() == 0)
            #expect(instance.terminate() == 0)
        }
    }
#endif
