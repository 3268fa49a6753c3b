import Foundation
import StratusCache
import StratusClient
import StratusTesting
import StratusWire
import TestSeeds
import Testing

/// A person's devices are used at random through the public interface alone, some with a cache that syncs and some with
/// an engine over one. At the end all devices have the same items: the newest edit of each field, and no deleted item.
@Suite(.timeLimit(.minutes(20))) struct RandomDevicesTests {
    /// The expected state at the end.
    struct Expected {
        /// The number of the step of each field's newest edit.
        var fields: [String: [String: Int64]] = [:]
        var deleted: Set<String> = []
        /// The zone of each record; records of a deleted zone are not checked.
        var zones: [String: CKRecordZone.ID] = [:]
        var deletedZones: Set<CKRecordZone.ID> = []

        /// Describes the items that differ.
        func violations(_ items: [String: String]) -> [String] {
            fields.compactMap { name, values in
                guard let zone = zones[name], !deletedZones.contains(zone) else { return nil }
                let text = "a=\(values["a"] ?? -1) b=\(values["b"] ?? -1)"
                let expected = deleted.contains(name) ? nil : text
                guard items[name] != expected else { return nil }
                return "\(name) is \(items[name] ?? "gone"), not \(expected ?? "gone")"
            }.sorted()
        }
    }

    struct Use {
        let cloud: TestCloud
        let clock: TestClock
        let devices: [RandomDevice]
        var numbers: SeededNumbers
        var expected = Expected()
        var story: [String] = []

        static let zones = ["List", "Other"].map { CKRecordZone.ID(zoneName: $0) }

        mutating func step(_ number: Int64) async throws {
            clock.advance(bySeconds: 1)
            let device = devices[Int.random(in: 0..<devices.count, using: &numbers)]
            let choice = Int.random(in: 0..<40, using: &numbers)
            story.append("\(number) \(device.name) \(choice)")
            switch choice {
            case 0..<5: try make(device, number)
            case 5..<14: try edit(device, number)
            case 14..<16: try delete(device)
            case 16..<22: await device.fetch()
            case 22..<27: await device.send()
            case 27..<30: try await restart(device)
            case 30..<37: fault(device)
            case 37: cloud.faults(on: device.name).isCutOff.toggle()
            case 38: try await deleteZone(device)
            default: try await switchAccount(device)
            }
        }

        private mutating func make(_ device: RandomDevice, _ number: Int64) throws {
            let zone = Self.zones[Int.random(in: 0..<2, using: &numbers)]
            let name = "r\(number)"
            let record = CKRecord(
                recordType: "Item", recordID: CKRecord.ID(recordName: name, zoneID: zone))
            record["a"] = number
            record["b"] = number
            try device.save([record])
            expected.fields[name] = ["a": number, "b": number]
            expected.zones[name] = zone
            story.append("  makes \(name)")
        }

        private mutating func any(_ device: RandomDevice) throws -> CKRecord? {
            try device.cache.records(matching: CacheQuery("Item"))
                .sorted { $0.recordID.recordName < $1.recordID.recordName }
                .randomElement(using: &numbers)
        }

        private mutating func edit(_ device: RandomDevice, _ number: Int64) throws {
            guard let record = try any(device) else { return }
            let key = Bool.random(using: &numbers) ? "a" : "b"
            record[key] = number
            try device.save([record])
            expected.fields[record.recordID.recordName]?[key] = number
            story.append("  edits \(record.recordID.recordName) \(key)")
        }

        private mutating func delete(_ device: RandomDevice) throws {
            guard let record = try any(device) else { return }
            try device.save([], deleting: [record.recordID])
            expected.deleted.insert(record.recordID.recordName)
            story.append("  deletes \(record.recordID.recordName)")
        }

        /// While the device is idle, or during a sync.
        private mutating func restart(_ device: RandomDevice) async throws {
            let sync = Bool.random(using: &numbers) ? Task { await device.send() } : nil
            for _ in 0..<Int.random(in: 0..<40, using: &numbers) { await Task.yield() }
            try device.restart()
            story.append("  starts again")
            await sync?.value
        }

        private mutating func deleteZone(_ device: RandomDevice) async throws {
            guard Int.random(in: 0..<3, using: &numbers) == 0 else { return }
            let zone = Self.zones[Int.random(in: 0..<2, using: &numbers)]
            guard try await device.cache.zoneIDs().contains(zone) else { return }
            try await device.deleteZone(zone)
            expected.deletedZones.insert(zone)
            story.append("  deletes zone \(zone.zoneName)")
        }

        /// Another user signs in for a while.
        private mutating func switchAccount(_ device: RandomDevice) async throws {
            try await cloud.signIn("bob", on: device.connection)
            if Bool.random(using: &numbers) { try device.restart() }
            if Bool.random(using: &numbers) { await device.fetch() }
            if Bool.random(using: &numbers) { await device.send() }
            if Bool.random(using: &numbers) { try device.restart() }
            try await cloud.signIn("alice", on: device.connection)
            story.append("  was bob's for a while")
        }

        private mutating func fault(_ device: RandomDevice) {
            let endpoints: [any Endpoint.Type] = [
                RecordsModify.self, RecordsModify.self, RecordsModify.self, ChangesZone.self,
                ChangesDatabase.self, ZonesModify.self,
            ]
            let endpoint = endpoints[Int.random(in: 0..<endpoints.count, using: &numbers)]
            let choice = Int.random(in: 0..<9, using: &numbers)
            story.append("  \(endpoint) meets \(choice)")
            let faults = cloud.faults(on: device.name)
            switch choice {
            case 0..<4: faults.next(of: endpoint, .dropConnectionAfterCommit)
            case 4: faults.next(of: endpoint, .dropConnectionBeforeCommit)
            case 5: faults.next(of: endpoint, .answer(.throttled, retryAfterSeconds: 0.1))
            case 6: faults.next(of: endpoint, .answer(.zoneBusy))
            case 7: cloud.faults.next(of: ChangesZone.self, .expireChangeTokens)
            default: cloud.faults.next(of: ChangesDatabase.self, .expireChangeTokens)
            }
        }

        /// From now on there are no faults.
        func becomeQuiet() async throws -> [String] {
            cloud.faults.clear()
            for device in devices {
                let faults = cloud.faults(on: device.name)
                faults.isCutOff = false
                // Faults that are planned for one request happen now.
                for _ in 0..<30 where !faults.isEmpty {
                    clock.advance(bySeconds: 60)
                    await device.fetch()
                    await device.send()
                }
            }
            var left: [String] = []
            for _ in 0..<8 {
                left = []
                for device in devices {
                    clock.advance(bySeconds: 60)
                    await device.fetch()
                    await device.send()
                    left += try await device.unfinished()
                }
                let items = try devices.map { try $0.items() }
                if left.isEmpty, Set(items).count == 1 { return [] }
            }
            let items = try devices.map { "\($0.name): \(try $0.items())" }
            return left + items
        }
    }

    @Test(arguments: Seeds.forTest("RandomDevicesTests", count: 3))
    func devicesConvergeToTheNewestEdits(seed: UInt64) async throws {
        let clock = TestClock()
        let cloud = TestCloud(clock: clock)
        var devices: [RandomDevice] = []
        for (name, usesEngine) in [("phone", true), ("tablet", false), ("laptop", true)] {
            devices.append(
                try await RandomDevice(cloud, name, usesEngine: usesEngine, clock))
        }
        // A file belongs to the user of its first sync.
        for device in devices { await device.fetch() }
        var use = Use(
            cloud: cloud, clock: clock, devices: devices, numbers: SeededNumbers(seed: seed))
        for number in 0..<Self.stepCount { try await use.step(Int64(number)) }
        let left = try await use.becomeQuiet()
        let items = try devices[0].items()
        let violations = use.expected.violations(items)
        for device in devices {
            while device.watched.items != items, device.watched.wrong.isEmpty, left.isEmpty {
                await Task.yield()
            }
            #expect(device.watched.wrong == [], "seed \(seed), \(device.name)")
        }
        let other = try await RandomDevice(cloud, "bob's", user: "bob", usesEngine: false, clock)
        await other.fetch()
        #expect(try other.items() == [:], "seed \(seed)")
        #expect(try await other.cache.zoneIDs() == [], "seed \(seed)")
        #expect(left + violations == [], "seed \(seed): \(use.story.joined(separator: "\n"))")
        for device in devices { try device.cache.close() }
    }

    /// More steps on request.
    private static let stepCount =
        ProcessInfo.processInfo.environment["STRATUS_STEPS"].flatMap { Int($0) } ?? 80
}
