import Foundation
import StratusClient
import StratusRecords
import StratusService
import StratusSync
import StratusSyncEngine
import StratusTesting
import StratusWire
import TestSeeds
import Testing

/// Random edits on two or three devices, with random failures and restarts, give the same result on every device.
///
/// A full fetch of a zone, without its token, does not report earlier deletions, here as with CloudKit. So a run has
/// either deletions or expired zone tokens.
@Suite struct EnginePropertyTests {
    @Test(arguments: Seeds.forTest("EnginePropertyTests", count: 60))
    func devicesConverge(_ seed: UInt64) async throws {
        var random = SeededNumbers(seed: seed)
        let world = EngineWorld()
        var apps: [EngineApp] = []
        for number in 0..<(2 + Int(seed % 2)) {
            apps.append(try await world.app("device\(number)"))
        }
        apps[0].makeZone()
        try await apps[0].engine.sendChanges()
        let erases = seed % 3 != 0
        for step in 0..<60 {
            if Int.random(in: 0..<4, using: &random) == 0 {
                addFault(to: world.cloud, expiresZones: !erases, &random)
            }
            let index = Int.random(in: 0..<apps.count, using: &random)
            await act(on: apps[index], step, erases: erases, &random)
        }
        world.cloud.faults.clear()
        // Every device sends, then every device fetches; this is repeated, as a merge makes new changes.
        for _ in 0..<3 {
            for app in apps {
                try await app.sendAll()
                try await app.engine.fetchChanges()
            }
        }
        let expected = try await stored(world)
        for app in apps {
            let differing = Set(app.texts.keys).union(expected.keys)
                .filter { app.texts[$0] != expected[$0] }
                .map { "\($0): \(app.texts[$0] ?? "-"), service \(expected[$0] ?? "-")" }
            #expect(differing.isEmpty, "seed \(seed)")
            #expect(app.engine.state.pendingRecordZoneChanges.isEmpty, "seed \(seed)")
            #expect(app.engine.state.zoneIDsWithUnfetchedServerChanges.isEmpty, "seed \(seed)")
        }
    }

    private func act(
        on app: EngineApp, _ step: Int, erases: Bool, _ random: inout SeededNumbers
    ) async {
        let name = String("abcdefgh".randomElement(using: &random) ?? "a")
        switch Int.random(in: 0..<10, using: &random) {
        case 0..<4: app.write(name, "\(1_000 + step)")
        case 4 where erases: app.erase(name)
        case 4: app.write(name, "\(1_000 + step)")
        // A change whose send fails stays pending and is sent later.
        case 5..<7: try? await app.engine.sendChanges()
        case 7..<9: try? await app.engine.fetchChanges()
        default:
            // The state is stored before the process ends, as in an app's own file.
            try? await app.engine.sendChanges(.init(scope: .recordIDs([])))
            app.restart()
        }
    }

    private func addFault(
        to cloud: TestCloud, expiresZones: Bool, _ random: inout SeededNumbers
    ) {
        let effects: [CloudFaults.Effect] = [
            .answer(.throttled, retryAfterSeconds: 1), .answer(.tryAgainLater),
            .answer(.zoneBusy), .dropConnectionBeforeCommit, .dropConnectionAfterCommit,
            .answer(.badRequest, frameworkCode: .limitExceeded),
        ]
        switch Int.random(in: 0..<8, using: &random) {
        case 0 where expiresZones: cloud.faults.next(of: ChangesZone.self, .expireChangeTokens)
        case 0, 1: cloud.faults.next(of: ChangesDatabase.self, .expireChangeTokens)
        case 2: cloud.faults.next(of: ChangesDatabase.self, .answer(.zoneBusy))
        case 3:
            cloud.faults.next(
                of: ChangesZone.self, .answer(.tryAgainLater, retryAfterSeconds: 1))
        default:
            if let effect = effects.randomElement(using: &random) {
                cloud.faults.next(of: RecordsModify.self, effect)
            }
        }
    }

    /// The final content of the service.
    private func stored(_ world: EngineWorld) async throws -> [String: String] {
        let reader = try await world.app("reader")
        try await reader.engine.fetchChanges()
        return reader.texts
    }
}
