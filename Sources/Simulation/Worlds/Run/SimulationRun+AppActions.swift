import StratusCache
import StratusClient
import StratusRecords

/// What an app does with zones and refused changes besides syncing.
extension SimulationRun {
    func detachZone(_ device: SimulatedDevice) throws {
        let zone = CKRecordZone.ID(zoneName: Plan.zones[0])
        guard try device.opened().zoneIDs(in: .private).contains(zone) else { return }
        do {
            try device.opened().detachZone(zone)
        } catch {
            // The disk was full or the process ended: the zone is detached, or it is not.
            return
        }
    }

    func attachZones(_ device: SimulatedDevice) throws {
        for zone in try device.opened().zoneIDs(in: .private) {
            do {
                let cache = try device.opened()
                if try cache.isDetached(zone) { try cache.attachZone(zone) }
            } catch {
                // As above; at the end of the world the zone's records then differ.
                continue
            }
        }
    }

    func discard(_ device: SimulatedDevice) throws {
        let items = try device.opened().attentionItems()
        withdraw(items, of: device)
        do {
            try device.opened().discardAttentionItems(items)
        } catch {
            // As above.
            return
        }
    }

    func takeServiceVersions(_ device: SimulatedDevice) throws {
        let cache = try device.opened()
        let items = try cache.attentionItems()
        guard !items.isEmpty else { return }
        withdraw(items, of: device)
        _ = device.world.startTask("script take") {
            // If the service cannot be reached, the changes are tried again at the end.
            try? await cache.takeServiceVersions(of: items)
        }
    }

    func retry(_ device: SimulatedDevice) throws {
        do {
            try device.opened().retryAttentionItems()
        } catch {
            // As above.
            return
        }
    }

    func refetchEverything(_ device: SimulatedDevice) throws {
        let cache = try device.opened()
        _ = device.world.startTask("script refetch") {
            // The disk was full or the process ended.
            try? await cache.refetchEverything()
        }
    }

    private func withdraw(_ items: [AttentionItem], of device: SimulatedDevice) {
        for item in items {
            guard let record = Int(item.recordID.recordName.dropFirst()),
                record < Plan.recordsPerZone.reduce(0, +)
            else { continue }
            let (key, id, _) = place(record, of: device)
            guard id == item.recordID else { continue }
            ledger.withdrawn(key, by: device.user, on: device.name)
        }
    }
}
