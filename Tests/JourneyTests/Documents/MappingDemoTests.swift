#if os(Linux)
    import Foundation
    import TestProcesses
    import Testing

    /// The demo project of Documentation/Mapping.md, as two devices of a user against `stratus serve`.
    @Suite(.timeLimit(.minutes(20)))
    struct MappingDemoTests {
        @Test func mappedObjectsSyncBetweenTwoDevices() throws {
            let service = try ServedInstance(dataFolder: nil)
            let homes = [try TemporaryFolder(), try TemporaryFolder()]
            let devices = try ["phone", "tablet"].enumerated().map { number, name in
                try DocumentDevice(
                    "huts", service, user: "ida", device: name, home: homes[number],
                    executable: "mapping-demo")
            }
            let (phone, tablet) = (devices[0], devices[1])
            #expect(try phone.tap("add Lake Long", "saved") != "nowhere")
            try phone.tap("add Peak High", "saved")
            #expect(try tablet.tap("list", "huts") == "Lake/10/Long Peak/10/High")
            try tablet.tap("beds Lake 24", "synced")
            try tablet.tap("remove Peak", "removed")
            #expect(try phone.tap("list", "huts") == "Lake/24/Long")
            #expect(try phone.quit() == 0)
        }
    }
#endif
