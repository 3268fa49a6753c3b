#if os(Linux)
    import Foundation
    import TestProcesses
    import TestSeeds
    import Testing

    /// A device's process is killed repeatedly, at any moment, while another device works on the same records. Nothing
    /// is lost, duplicated or restored, neither in the file that the next process opens nor in the final state.
    @Suite struct KilledDeviceTests {
        /// `STRATUS_LONG=1` kills more often.
        private static let killCount =
            ProcessInfo.processInfo.environment["STRATUS_LONG"] == nil ? 20 : 200

        @Test(
            .timeLimit(.minutes(20)),
            arguments: Seeds.forTest("KilledDeviceTests", count: 1))
        func killAtAnyMomentLosesDuplicatesAndRestoresNothing(_ seed: UInt64) async throws {
            let world = try KillWorld(seed: seed)
            for number in 0..<Self.killCount { try await world.kill(number, at: nil) }
            let (violations, counts) = try world.end()
            print("\(Self.killCount) kills by seed \(seed): \(counts)")
            #expect(violations.isEmpty, "seed \(seed)")
        }

        /// A device that acknowledges changes before they are stored, and one that sends uncertain changes again.
        @Test(
            .timeLimit(.minutes(20)),
            arguments: [
                ("acknowledgesAhead", ["lost", "back"]), ("repeatsUnsent", ["doubled"]),
            ])
        func faultyDeviceIsDetected(_ fault: String, _ words: [String]) async throws {
            let world = try KillWorld(seed: 7, fault: fault)
            for number in 0..<12 { try await world.kill(number, at: .afterSave) }
            let (violations, _) = try world.end()
            for word in words {
                #expect(violations.contains { $0.contains("\(word): ") }, "\(violations)")
            }
        }
    }

    /// The moment of a kill.
    enum KillPlace: String, CaseIterable {
        case atStart = "at the start"
        case afterSave = "after a save"
        case inSync = "in a sync"
        case anywhere = "anywhere"
    }

    /// A service and two devices of a user, each in a separate process; one of them is killed.
    final class KillWorld {
        private let folder: TemporaryFolder
        private let service: ServedInstance
        private let tablet: DocumentDevice
        private let seed: UInt64
        private let fault: String
        private var numbers: UInt64
        /// How long a start takes on this machine.
        private var startMilliseconds: UInt64 = 100
        private var kills: [KillPlace: Int] = [:]

        /// - Parameter fault: A fault of the phone's program.
        init(seed: UInt64, fault: String = "") throws {
            folder = try TemporaryFolder()
            // The devices are quicker than people.
            service = try ServedInstance(
                dataFolder: folder.path + "/service",
                arguments: [
                    "--dev", "--limit", "requestsPerSecond=100000", "--limit",
                    "requestsPerSecondPerAddress=100000",
                ])
            self.seed = seed
            self.fault = fault
            numbers = seed
            tablet = try Self.device("tablet", 0, seed, "", folder, service)
            try tablet.wait(for: "open")
        }

        private static func device(
            _ name: String, _ life: Int, _ seed: UInt64, _ fault: String,
            _ folder: TemporaryFolder, _ service: ServedInstance
        ) throws -> DocumentDevice {
            let path = folder.path + "/" + name
            return try DocumentDevice(
                "cache-peer",
                ["records", path, path + ".ledger", "\(name).\(life)", "\(seed &+ UInt64(life))"],
                [
                    "STRATUS_URL": service.url, "STRATUS_DEV_USER": "alice",
                    "STRATUS_DEVICE_ID": name, "STRATUS_CONTAINER": Session.container,
                    "CHURN_FAULT": fault, "HOME": folder.path, "XDG_CONFIG_HOME": folder.path,
                    "XDG_CACHE_HOME": folder.path,
                ])
        }

        private func device(_ name: String, _ life: Int) throws -> DocumentDevice {
            try Self.device(name, life, seed, name == "phone" ? fault : "", folder, service)
        }

        private func random(_ count: UInt64) -> UInt64 {
            numbers = numbers &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return (numbers >> 33) % count
        }

        /// One life of the phone, at whose end it is killed, while the tablet works too.
        ///
        /// - Parameter place: nil for a random one.
        func kill(_ number: Int, at place: KillPlace?) async throws {
            let place = place ?? KillPlace.allCases[Int(random(4))]
            let isRunning = place != .inSync && random(2) == 0
            kills[place, default: 0] += 1
            try tablet.write("steps \(random(8))")
            let started = ContinuousClock.now
            let phone = try device("phone", number)
            if place != .atStart {
                try phone.wait(for: "open")
                startMilliseconds = max(
                    10, UInt64((ContinuousClock.now - started) / .milliseconds(1)))
                try phone.write("churn \(isRunning ? "running" : "synced")")
            }
            switch place {
            case .atStart: try await pause(startMilliseconds)
            case .afterSave: for _ in 0...random(30) { try phone.wait(for: "saved") }
            case .inSync:
                for _ in 0...random(3) { try phone.wait(for: "syncing") }
                try await pause(20)
            case .anywhere: try await pause(300)
            }
            #expect(phone.kill() == SIGKILL, "It ended before it was killed.")
            try tablet.wait(for: "done")
            // Before the phone gets the answers to what it was sending.
            if random(4) > 0 { try tablet.tap("steps \(random(12))", "done") }
        }

        /// Waits for a random time of up to this many milliseconds.
        private func pause(_ milliseconds: UInt64) async throws {
            try await Task.sleep(for: .microseconds(random(milliseconds * 1_000)))
        }

        /// Syncs everything, and compares what all devices have.
        ///
        /// - Returns: The violations, and a summary of the counts.
        func end() throws -> (violations: [String], counts: String) {
            let phone = try device("phone", 1_000_000)
            try phone.wait(for: "open")
            for _ in 0..<2 {
                for device in [phone, tablet] { try device.tap("sync", "synced") }
            }
            let fresh = try device("fresh", 0)
            try fresh.wait(for: "open")
            let ledger = KillLedger(
                try ["phone", "tablet"].map {
                    try String(contentsOfFile: folder.path + "/\($0).ledger", encoding: .utf8)
                })
            var violations = ledger.views.flatMap { ledger.violations(in: $0) }
            let stored = try rowsOfService()
            violations += ledger.violations(atEnd: stored)
            for (name, device) in [("phone", phone), ("tablet", tablet), ("fresh", fresh)] {
                // No device has pending changes.
                #expect(try device.tap("sync", "synced") == "0", "\(name), seed \(seed)")
                let rows = try rows(of: device).sorted { $0.record < $1.record }
                #expect(rows == stored, "\(name), seed \(seed)")
                #expect(try device.quit() == 0)
            }
            let places = KillPlace.allCases.map { "\(kills[$0] ?? 0) \($0.rawValue)" }
            let all = ledger.operations.values.joined()
            #expect(!all.isEmpty)
            return (
                violations,
                places.joined(separator: ", ")
                    + "; \(all.count { $0.isAcknowledged }) changes acknowledged, "
                    + "\(all.count { !$0.isAcknowledged }) cut by the kill, "
                    + "\(all.count { $0.kind == .delete }) deletions, "
                    + "\(ledger.views.count) files compared, \(stored.count) records at the end"
            )
        }

        private func rows(of device: DocumentDevice) throws -> [KillLedger.Row] {
            let count = device.lines.count
            try device.tap("list", "end")
            return device.lines[count...].filter { $0.hasPrefix("row ") }
                .map { KillLedger.row($0.split(separator: " ").dropFirst().map { String($0) }) }
        }

        /// The records that the service returns to a new device.
        private func rowsOfService() throws -> [KillLedger.Row] {
            let session = try Session(service, user: "alice", device: "reader")
            var rows: [KillLedger.Row] = []
            var token = ""
            while true {
                let answer = try session.post(
                    "changes/zone", #"{"zones":[{"zoneID":{"zoneName":"List"}\#(token)}]}"#)
                let zones = try #require(try answer.object()["zones"] as? [[String: Any]])
                let page = try #require(zones.first)
                for record in try #require(page["records"] as? [[String: Any]]) {
                    let name = try #require(record["recordName"] as? String)
                    guard record["deleted"] as? Bool != true else { continue }
                    let fields = try #require(record["fields"] as? [String: [String: Any]])
                    rows.append(
                        KillLedger.row(
                            [name]
                                + KillLedger.fields.map { fields[$0]?["value"] as? String ?? "-" }))
                }
                token = #","syncToken":"\#(try #require(page["syncToken"] as? String))""#
                guard page["moreComing"] as? Bool == true else { break }
            }
            return rows.sorted { $0.record < $1.record }
        }
    }
#endif
