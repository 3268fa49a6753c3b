import StratusRecords
import StratusSync

extension Plan {
    var resolver: (any ConflictResolver)? { decidesByAncestor ? AncestorResolver() : nil }

    var settings: SyncSettings {
        var settings = SyncSettings()
        // So that batches meet the ends of pages.
        if hasTransfers { settings.recordsPerPage = 2 }
        return settings
    }
}

/// An app's resolver that knows no times: what only this device changed since both agreed is kept, and what both changed is
/// the service's.
private struct AncestorResolver: ConflictResolver {
    func resolve(_ conflict: SyncConflict) -> ConflictResolution {
        let (client, server) = (conflict.client, conflict.server)
        guard client["life"] == server["life"] else { return whole(client, server) }
        var merged = server
        for name in Plan.fields + [Plan.photo] where server[name] == conflict.ancestor?[name] {
            merged[name] = client[name]
        }
        return .save(fields: merged.fields)
    }

    /// Of two records of one name the later one.
    private func whole(_ client: RecordSnapshot, _ server: RecordSnapshot) -> ConflictResolution {
        guard case .int64(let here) = client["life"], case .int64(let there) = server["life"],
            here > there
        else { return .keepServer }
        return .save(fields: client.fields)
    }
}
