import StratusRecords
import StratusStorage

@testable import StratusService

/// Changes that are carried out in steps.
extension SharingPlay {
    private func store(of user: Int) async throws -> any RecordStore {
        try await world.service.storage.store(
            for: DatabaseAddress(world.address, .private(owner: people[user].name)))
    }

    mutating func takeStep(of user: Int) async throws {
        if try await world.service.components.longChanges.step(store(of: user)) { stepsTaken += 1 }
    }

    /// Takes all remaining steps.
    mutating func finishSteps() async throws {
        for user in Set(model.zones.map(\.owner)).sorted() {
            let store = try await store(of: user)
            while try await world.service.components.longChanges.step(store) { stepsTaken += 1 }
        }
        unfinished = []
        departing = []
    }

    mutating func noteUnfinishedZones() async throws {
        unfinished = []
        departing = []
        for (index, zone) in model.zones.enumerated() {
            let name = zone.name
            let left = try await store(of: zone.owner).read { reader in
                try reader.zone(named: name).map { try reader.longChanges(in: $0.key) } ?? []
            }
            if !left.isEmpty { unfinished.insert(index) }
            if left.contains(.departure) { departing.insert(index) }
        }
    }

    /// Whether a user found what the user may see: all of it or, as long as steps remain, a part.
    func isRight(_ found: [String: Int64], _ view: [String: Int64], of user: Int, in zone: Int)
        -> Bool
    {
        guard unfinished.contains(zone), user != model.zones[zone].owner else {
            return found == view
        }
        return found.allSatisfy { view[$0.key] == $0.value }
    }
}
