import Foundation
import StratusClient
import StratusRecords
import StratusStorage
import StratusSync
import StratusSyncEngine
import StratusTesting
import TestSeeds
import Testing

@testable import StratusCache

/// Devices with engines are used at random while older copies of the service's data are restored. Each device edits its
/// own field, so that at the end all devices have each one's last edit, and no deleted record.
@Suite(.timeLimit(.minutes(20))) struct RestoredEnginesTests {
    private struct Use {
        let cloud: RestorableCloud
        let devices: [EngineDevice]
        var numbers: SeededNumbers
        var copies: [SQLiteStorageEngine] = []
        /// The last value that each device wrote, by record and field.
        var written: [String: [String: Int64]] = [:]
        var deleted: Set<String> = []
        var story: [String] = []

        private mutating func number(below limit: Int) -> Int {
            Int.random(in: 0..<limit, using: &numbers)
        }

        mutating func step(_ step: Int64) async throws {
            let index = number(below: devices.count)
            let device = devices[index]
            let choice = number(below: 32)
            story.append("\(step) device \(index) \(choice)")
            switch choice {
            case 0..<4: try write("r\(step)", index, step)
            case 4..<11: if let name = try any(device) { try write(name, index, step) }
            case 11..<13:
                guard let name = try any(device) else { return }
                try device.delete(name)
                deleted.insert(name)
                story.append("  deletes \(name)")
            case 13..<18: await calmly { try await device.engine.fetchChanges() }
            case 18..<23: await calmly { try await device.engine.sendChanges() }
            case 23..<25: try device.restart()
            case 25..<27: cloud.loseNextAnswer(ofDevice: index)
            case 27..<30: copies.append(try cloud.copy())
            default:
                guard let copy = copies.randomElement(using: &numbers) else { return }
                try await cloud.restore(copy)
                story.append("  a copy is put back")
            }
        }

        private func any(_ device: EngineDevice) throws -> String? {
            var numbers = numbers
            return try device.texts().keys.sorted().randomElement(using: &numbers)
        }

        private mutating func write(_ name: String, _ index: Int, _ step: Int64) throws {
            let device = devices[index]
            let id = CKRecord.ID(recordName: name, zoneID: .list)
            let record =
                try device.cache.record(for: id) ?? CKRecord(recordType: "Item", recordID: id)
            record["f\(index)"] = step
            record["text"] = name
            try device.store.save([record], device.engine)
            written[name, default: [:]]["f\(index)"] = step
            story.append("  writes \(name)")
        }

        /// A failed call is repeated at the end.
        private func calmly(_ body: () async throws -> Void) async {
            // Errors are ignored: at the end nothing may be left to do.
            do { try await body() } catch {}
        }

        /// The records that every device must have.
        private var expected: [String: [String: Int64]] {
            written.filter { !deleted.contains($0.key) }
        }

        /// Syncs all devices, without more restores.
        ///
        /// - Returns: The remaining violations.
        func violations() async throws -> [String] {
            var wrong: [String] = []
            for _ in 0..<8 {
                wrong = []
                for device in devices {
                    await calmly { try await device.engine.fetchChanges() }
                    await calmly { try await device.engine.sendChanges() }
                }
                for (index, device) in devices.enumerated() {
                    let found = try fields(of: device)
                    for name in Set(found.keys).union(expected.keys).sorted()
                    where found[name] != expected[name] {
                        wrong.append(
                            "device \(index): \(name) is \(found[name].map { "\($0)" } ?? "gone"),"
                                + " not \(expected[name].map { "\($0)" } ?? "gone")")
                    }
                    wrong += device.engine.state.pendingRecordZoneChanges.map {
                        "device \(index): pending \($0)"
                    }
                }
                if wrong.isEmpty { break }
            }
            return wrong
        }

        private func fields(of device: EngineDevice) throws -> [String: [String: Int64]] {
            var fields: [String: [String: Int64]] = [:]
            for record in try device.cache.records(ofType: "Item", inZoneWith: .list) {
                let name = record.recordID.recordName
                fields[name] = [:]
                for index in devices.indices {
                    fields[name]?["f\(index)"] = record["f\(index)"] as Int64?
                }
            }
            return fields
        }
    }

    @Test(arguments: Seeds.forTest("RestoredEnginesTests", count: Self.count))
    func restoresLoseNoChangeAndRestoreNoDeletedRecord(seed: UInt64) async throws {
        let cloud = RestorableCloud()
        var devices: [EngineDevice] = []
        for _ in 0..<3 { devices.append(try await cloud.device()) }
        try devices[0].save("first", "first")
        for device in devices + devices { try await device.sync() }
        var use = Use(cloud: cloud, devices: devices, numbers: SeededNumbers(seed: seed))
        use.written["first"] = [:]
        for step in 0..<60 { try await use.step(Int64(step)) }
        let violations = try await use.violations()
        #expect(violations == [], "seed \(seed): \(use.story.joined(separator: "\n"))")
    }

    /// Many more with `STRATUS_LONG=1`.
    private static let count =
        ProcessInfo.processInfo.environment["STRATUS_LONG"] == nil ? 6 : 300
}
