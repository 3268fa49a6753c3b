import StratusRecords
import StratusSync

extension Plan {
    var resolver: (any ConflictResolver)? { decidesByAncestor ? AncestorResolver() : nil }

    var settings: SyncSettings {
        var settings = SyncSettings()
        // Small pages, so that a batch can be at the end of one.
        if hasTransfers { settings.recordsPerPage = 2 }
        return settings
    }
}

/// An app's resolver without times: what only this device changed since the ancestor is kept; of what both changed, the
/// service's values win.
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

    /// Of two records with one name, keeps the later one.
    private func whole(_ client: RecordSnapshot, _ server: RecordSnapshot) -> ConflictResolution {
        guard case .int64(let here) = client["life"], case .int64(let there) = server["life"],
            here > there
        else { return .keepServer }
        return .save(fields: client.fields)
    }
}
