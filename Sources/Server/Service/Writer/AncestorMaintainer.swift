import StratusRecords
import StratusStorage

/// Keeps earlier states of living records, as far as there is room for them: ``AncestorRow``.
struct AncestorMaintainer: RecordMaintainer {
    /// The largest size of a state, and over how many changes of its zone a state is kept.
    struct AncestorLimits: Sendable {
        let bytes: Int
        let changes: Int64

        init(_ limits: Limits) {
            bytes = limits.ancestorBytes
            changes = limits.ancestorChanges
        }
    }

    let limits: AncestorLimits

    func begin(_ zone: ZoneRow, isShared: Bool, in rows: any DerivedRowWriter) {}

    /// Keeps the state that the change replaced. A state that is too large ends the chain, since those before it could
    /// not be found any more.
    func stored(_ write: RecordWrite, in rows: any DerivedRowWriter) throws {
        guard let old = write.old else { return }
        if old.payload.count <= limits.bytes {
            try rows.put(AncestorRow(old, replacedAt: write.row.version))
        } else {
            try forgetStates(of: old, in: rows)
        }
    }

    /// The record keeps its change tag, and so its state.
    func moved(_ write: RecordWrite, in rows: any DerivedRowWriter) {}

    func deleted(_ write: RecordWrite, in rows: any DerivedRowWriter) throws {
        if let old = write.old { try forgetStates(of: old, in: rows) }
    }

    /// Earlier states cannot be derived from a record; those that are kept stay.
    func rebuilt(_ write: RecordWrite, in rows: any DerivedRowWriter) {}

    func finish(_ zone: ZoneRow, through version: Int64, in rows: any DerivedRowWriter) throws {
        try rows.deleteAncestors(replacedThrough: version - limits.changes, in: zone.key)
    }

    /// The store deletes a zone's states with it.
    func removing(_ zone: ZoneRow, in rows: any DerivedRowWriter) {}

    private func forgetStates(of record: RecordRow, in rows: any DerivedRowWriter) throws {
        for state in try rows.ancestors(of: record) {
            try rows.deleteAncestor(replacedAt: state.replacedAt, in: state.zone)
        }
    }
}

extension StoreReader {
    /// The states that a living record had and that are still kept, the newest first.
    func ancestors(of row: RecordRow) throws -> [AncestorRow] {
        var states: [AncestorRow] = []
        // A tag contains the version of the change that made it, under which the state before it is stored.
        var next = ChangeTag.version(of: row.changeTag)
        while let version = next, let state = try ancestor(replacedAt: version, in: row.zone) {
            states.append(state)
            next = ChangeTag.version(of: state.changeTag)
            guard let next, next < version else { break }
        }
        return states
    }

    /// The state of a living record with a change tag, if it and its assets are still kept.
    func ancestor(of row: RecordRow, tagged tag: String) throws -> RecordRow? {
        guard let wanted = ChangeTag.version(of: tag) else { return nil }
        var next = ChangeTag.version(of: row.changeTag)
        while let version = next, version > wanted,
            let state = try ancestor(replacedAt: version, in: row.zone)
        {
            if state.changeTag == tag {
                return try hasAssets(of: state) ? row.replaced(by: state) : nil
            }
            next = ChangeTag.version(of: state.changeTag)
            guard let next, next < version else { break }
        }
        return nil
    }

    /// An earlier state does not keep its assets: once no record has them, they are removed.
    private func hasAssets(of state: AncestorRow) throws -> Bool {
        try StoredAssets.blobs(in: state.payload).allSatisfy { try asset($0.sha256)?.blob == $0 }
    }
}

extension RecordRow {
    fileprivate func replaced(by state: AncestorRow) -> RecordRow {
        var row = self
        row.changeTag = state.changeTag
        row.modifiedMilliseconds = state.modifiedMilliseconds
        row.modifier = state.modifier
        row.modifierDevice = state.modifierDevice
        row.parent = state.parent
        row.payload = state.payload
        return row
    }
}
