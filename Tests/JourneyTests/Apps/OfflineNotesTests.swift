#if os(Linux)
    import Foundation
    import TestProcesses
    import Testing

    /// The example app of Documentation/OfflineFirst.md, on three devices of two people against `stratus serve`.
    @Suite(.timeLimit(.minutes(20)))
    struct OfflineNotesTests {
        private let data: TemporaryFolder
        private let homes: [TemporaryFolder]
        private let picture: String

        init() throws {
            data = try TemporaryFolder()
            homes = try (0..<3).map { _ in try TemporaryFolder() }
            picture = data.path + "/picture"
            try Data(repeating: 7, count: 70_000).write(to: URL(fileURLWithPath: picture))
        }

        private func open(
            _ service: ServedInstance, _ number: Int, user: String
        ) throws -> DocumentDevice {
            try DocumentDevice(
                "notes", service, user: user, device: "\(user) \(number)", home: homes[number],
                executable: "offline-notes", file: homes[number].path + "/notes.sqlite")
        }

        @Test func notesMadeOfflineSyncAfterRestart() throws {
            var service = try ServedInstance(dataFolder: data.path + "/service")
            var phone = try open(service, 0, user: "ida")
            try phone.tap("add milk \(picture)", "saved")
            try phone.tap("pin milk", "pinned")
            try phone.tap("sync", "synced")
            #expect(try phone.quit() == 0)
            // There is no service during the next run.
            let port = service.port
            service.kill()
            phone = try open(service, 0, user: "ida")
            #expect(try phone.tap("list", "notes") == "milk, pinned milk")
            #expect(try phone.tap("picture milk", "picture") == "of 70000 bytes")
            try phone.tap("add bread", "saved")
            try phone.tap("sync", "refused")
            try phone.tap("share milk", "refused")
            service = try ServedInstance(dataFolder: data.path + "/service", port: port)
            try phone.tap("sync", "synced")
            // Another device of the user.
            let tablet = try open(service, 1, user: "ida")
            try tablet.tap("sync", "synced")
            let line = "milk was inserted by otherDevice"
            // The line may have been printed before the sync ended.
            if !tablet.lines.contains(line) { try tablet.wait(for: line) }
            #expect(try tablet.tap("list", "notes") == "bread milk, pinned")
            #expect(try tablet.tap("picture milk", "picture") == "of 70000 bytes")
            // Another person, who has their own note.
            let link = try phone.tap("share milk", "link")
            let other = try open(service, 2, user: "bo")
            try other.tap("add soap", "saved")
            try other.tap("join \(link)", "joined")
            #expect(try other.tap("list", "notes") == "soap milk, pinned")
            for device in [phone, tablet, other] { #expect(try device.quit() == 0) }
        }
    }
#endif
