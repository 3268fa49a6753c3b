#if os(Linux)
    import Foundation
    import TestProcesses
    import Testing

    /// Both apps, used by two people on four devices, at a service that runs without `--dev`.
    ///
    /// With `STRATUS_STORY=1` the story is printed: each typed line, and each line on a screen.
    @Suite(.timeLimit(.minutes(20)))
    struct AppStoryTests {
        private let service: TemporaryFolder
        private let home: TemporaryFolder
        private static let people = ["Alice", "Bob"]
        /// The devices' names, with their owners in the order of ``people``.
        private static let devices = [
            "Alice's phone", "Alice's tablet", "Bob's phone", "Bob's laptop",
        ]

        init() throws {
            service = try TemporaryFolder()
            home = try TemporaryFolder()
            for person in Self.people {
                let input = Pipe()
                let process = try ChildProcess(
                    [
                        BuiltProgram.named("stratus").path, "user", "create", "--data",
                        service.path, "--email", Self.address(person), "--given-name", person,
                        "--verified",
                    ], input: input.fileHandleForReading)
                try input.fileHandleForReading.close()
                try input.fileHandleForWriting.write(
                    contentsOf: Data("correct horse battery staple\n".utf8))
                try input.fileHandleForWriting.close()
                #expect(process.end() == 0)
            }
        }

        private static func address(_ person: String) -> String {
            person.lowercased() + "@example.org"
        }

        /// Opens an app on every device of both people, each with a separate sign-in.
        private func open(_ app: String, container: String, _ url: String) throws -> [StoryDevice] {
            try Self.devices.map { name in
                let person = String(name.prefix { $0 != "'" })
                let printed = try CommandRun([
                    "token", "create", "--data", service.path, "--container", container,
                    "--user", Self.address(person),
                ]).output
                let pairs = printed.split(separator: "\n").map {
                    $0.split(separator: "=", maxSplits: 1)
                }
                var environment = Dictionary(
                    uniqueKeysWithValues: pairs.map { (String($0[0]), String($0[1])) })
                environment["STRATUS_URL"] = url
                environment["USER"] = person
                // All devices have the same name, since names must not matter.
                environment["STRATUS_DEVICE_ID"] = "home"
                return StoryDevice(
                    name,
                    try DocumentDevice(
                        app, ["--data", "\(home.path)/\(app) \(name)"], environment))
            }
        }

        @Test func shoppingListIsSharedByTwoPeopleOnFourDevices() throws {
            let instance = try ServedInstance(dataFolder: service.path, arguments: [])
            let opened = try open(
                "shopping", container: "iCloud.org.stratus.Shopping", instance.url)
            let (phone, tablet, bobs, laptop) = (opened[0], opened[1], opened[2], opened[3])
            for device in opened {
                #expect(try device.type("sync").contains("In step with the service."))
            }
            try phone.type("new Groceries")
            try phone.type("add Milk; Bread; 2 × Eggs")
            try phone.type("share")
            let invited = try phone.type("invite bob@example.org")
            let link = try #require(invited.last { $0.hasPrefix("Link: ") }?.dropFirst(6))
            try tablet.awaitLine("* list Groceries appeared")
            #expect(try bobs.type("join \(link)").contains("Groceries is open."))
            try phone.awaitLine("* Bob joined Groceries")
            // The push arrives once the zone can be fetched.
            try laptop.awaitLine("* list Groceries appeared")
            try laptop.type("open Groceries")
            // A change on one device is shown on the three others without a command.
            try laptop.type("tick milk")
            for device in [phone, tablet] { try device.awaitLine("* Milk ticked by Bob") }
            try bobs.awaitLine("* Milk ticked by Bob")
            // While shopping, others' additions wait and one's own do not, even with devices of the same name.
            #expect(!tablet.showed { $0.hasSuffix("joined Groceries in Groceries") })
            try tablet.type("mode shopping")
            try bobs.type("add Butter")
            try tablet.awaitLine("* Butter added by Bob")
            #expect(try tablet.type("notices").contains("1 Butter (added by Bob)"))
            try tablet.type("add Tea")
            #expect(try tablet.type("show").contains { $0.contains("[ ] Tea") })
            #expect(try tablet.type("take all").contains("All notices are on the list."))
            try tablet.type("mode planning")
            try bobs.awaitLine("* Tea added by Alice")
            // Both devices change the list offline, and afterwards both changes exist.
            for device in [phone, bobs] { try device.type("offline") }
            try phone.type("add Cream after bread")
            try bobs.type("add Jam after bread")
            try bobs.type("rename bread to Rye bread")
            #expect(try phone.type("status").contains("Changes waiting to be sent: 1"))
            for device in [phone, bobs] { try device.type("online") }
            try bobs.awaitLine("* Cream added by Alice")
            try phone.awaitLine("* Bread renamed to Rye bread by Bob")
            for device in opened { try device.type("sync") }
            let screens = try opened.map { try $0.type("show") }
            #expect(Set(screens).count == 1)
            for name in ["Rye bread", "Cream", "Jam", "2 × Eggs", "Butter", "Tea"] {
                #expect(screens[0].contains { $0.contains("[ ] \(name)") }, "\(name)")
            }
            #expect(screens[0].contains { $0.contains("[x] Milk") })
            #expect(try laptop.type("activity").contains { $0.contains("Cream added by Alice") })
            #expect(try laptop.type("people").contains { $0.hasPrefix("2 Bob (may write, you)") })
            // The sharing ends; Alice keeps her list.
            try phone.type("stop")
            for device in [bobs, laptop] {
                try device.awaitLine("* Alice stopped sharing Groceries")
                #expect(try device.type("lists").contains { $0.hasPrefix("There is no list yet") })
            }
            #expect(try tablet.type("show") == screens[0])
            for device in opened { #expect(try device.quit() == 0) }
            #expect(instance.terminate() == 0)
        }

        @Test func notesSyncBetweenDevicesOfOneUserOnly() throws {
            let instance = try ServedInstance(dataFolder: service.path, arguments: [])
            let opened = try open("notes", container: "iCloud.org.stratus.Notes", instance.url)
            let (phone, tablet, bobs, laptop) = (opened[0], opened[1], opened[2], opened[3])
            for (device, text) in [(phone, "Call Ida"), (bobs, "Water the plants")] {
                try device.type("write \(text)")
                #expect(try device.type("sync").contains("-- In the cloud."))
                // The first note creates the subscription; the next one is pushed.
                while try !device.type("json").contains(where: {
                    $0.contains("isSubscribed") && $0.contains("true")
                }) {}
                try device.type("add \(text) again")
            }
            for (device, text) in [(tablet, "Call Ida"), (laptop, "Water the plants")] {
                try device.awaitLine("* Changed elsewhere:")
                try device.awaitLine("\(text) again")
                #expect(try device.type("show").contains(text))
            }
            // Both of her devices are offline: the later edit wins, and the other text is kept.
            for device in [phone, tablet] { try device.type("offline") }
            try phone.type("write From the phone")
            try tablet.type("write From the tablet")
            try tablet.type("online")
            #expect(try tablet.type("sync").contains("-- In the cloud."))
            try phone.type("online")
            #expect(try phone.type("sync").contains("-- In the cloud."))
            try tablet.type("sync")
            #expect(try phone.type("show").contains("From the tablet"))
            #expect(try phone.type("other").contains("From the phone"))
            #expect(try tablet.type("show").contains("From the tablet"))
            for device in [bobs, laptop] {
                try device.type("sync")
                #expect(
                    try device.type("show").prefix(2) == [
                        "Water the plants", "Water the plants again",
                    ])
            }
            for device in opened { #expect(try device.quit() == 0) }
            #expect(instance.terminate() == 0)
        }
    }

    /// A device whose screen is printed, line by line.
    private final class StoryDevice {
        private let name: String
        private let device: DocumentDevice
        private var shownCount = 0
        private var awaitedCount = 0

        init(_ name: String, _ device: DocumentDevice) {
            self.name = name
            self.device = device
        }

        /// Types a line.
        ///
        /// - Returns: the lines on the screen until the end of the answer.
        @discardableResult
        func type(_ line: String) throws -> [String] {
            printLine("\(name)> \(line)")
            let before = device.lines.count
            try device.tap(line, ".")
            printNewLines()
            return Array(device.lines[before...].dropLast())
        }

        /// Waits for a line that is not an answer to a command; an earlier one since the last call counts too.
        func awaitLine(_ beginning: String) throws {
            let shown = device.lines[awaitedCount...].firstIndex { $0.hasPrefix(beginning) }
            if let shown {
                awaitedCount = shown + 1
            } else {
                try device.wait(for: beginning)
                awaitedCount = device.lines.count
            }
            printNewLines()
        }

        /// Whether such a line was shown until now.
        func showed(_ isWanted: (String) -> Bool) -> Bool { device.lines.contains(where: isWanted) }

        func quit() throws -> Int32 { try device.quit() }

        private func printNewLines() {
            for line in device.lines[shownCount...] where line != "." {
                printLine("    \(name)  |  \(line)")
            }
            shownCount = device.lines.count
        }

        private func printLine(_ line: String) {
            if ProcessInfo.processInfo.environment["STRATUS_STORY"] != nil { print(line) }
        }
    }
#endif
