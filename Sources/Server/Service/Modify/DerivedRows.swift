import StratusRecords
import StratusStorage
import StratusWire

/// What other tables keep of a record: its references by their targets, and the states that it had.
extension ModifyDecisions.Write {
    /// Brings the references up to date.
    func putReferences(in writer: any StoreWriter) throws {
        var stored: Set<ActingReference> = []
        if let old {
            do {
                stored = try ActingReference.all(in: old.payload)
            } catch {
                // Bytes that cannot be read: what they referred to is found the long way.
                try writer.deleteReferences(heldBy: row.name, in: row.zone)
            }
        }
        for reference in stored.subtracting(references) {
            try writer.delete(reference.row(heldBy: row))
        }
        for reference in references.subtracting(stored) {
            try writer.put(reference.row(heldBy: row))
        }
    }

    /// Keeps the state that the change replaced; a deletion forgets all of them.
    func putAncestor(in writer: any StoreWriter, limits: Limits) throws {
        guard let old else { return }
        if row.isDeleted {
            for state in try writer.ancestors(of: old) {
                try writer.deleteAncestor(replacedAt: state.replacedAt, in: state.zone)
            }
        } else if old.payload.count <= limits.ancestorBytes {
            try writer.put(AncestorRow(old, replacedAt: row.version))
        }
    }
}

extension ActingReference {
    fileprivate func row(heldBy holder: RecordRow) -> ReferenceRow {
        ReferenceRow(zone: holder.zone, target: target, action: action, holder: holder.name)
    }
}

extension StoreReader {
    /// The states that a living record had and that are still kept, the newest first.
    func ancestors(of row: RecordRow) throws -> [AncestorRow] {
        var states: [AncestorRow] = []
        // A tag names the version of the change that made it, and that is where the state before it lies.
        var next = ChangeTag.version(of: row.changeTag)
        while let version = next, let state = try ancestor(replacedAt: version, in: row.zone) {
            states.append(state)
            next = ChangeTag.version(of: state.changeTag)
            guard let next, next < version else { break }
        }
        return states
    }

    /// The state of a living record that a change tag names, where it is still kept.
    func ancestor(of row: RecordRow, tagged tag: String) throws -> RecordRow? {
        guard let wanted = ChangeTag.version(of: tag) else { return nil }
        var next = ChangeTag.version(of: row.changeTag)
        while let version = next, version > wanted,
            let state = try ancestor(replacedAt: version, in: row.zone)
        {
            if state.changeTag == tag { return row.replaced(by: state) }
            next = ChangeTag.version(of: state.changeTag)
            guard let next, next < version else { break }
        }
        return nil
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
